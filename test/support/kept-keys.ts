import type { WorkingKeyUse } from '../../src/kits/processor-kit/processor.ts';
import type { ExchangedKeys, LiveKey } from '../../src/switching/switches/ports.ts';

/** Exchanged keys of one switch, in memory: replaces the database that workers share. */
export class KeptKeys implements ExchangedKeys {
  rows: LiveKey[] = [];
  readonly claims = new Set<WorkingKeyUse>();
  isDown = false;

  async live() {
    return this.rows;
  }
  async keep(_where: unknown, key: Omit<LiveKey, 'acknowledgedMsAgo'>) {
    if (this.isDown) throw new Error('the database is unavailable');
    this.rows = [{ ...key, acknowledgedMsAgo: null }, ...this.rows];
  }
  async acknowledge(_where: unknown, { keyId }: { readonly keyId: string }) {
    this.rows = this.rows.map((row) => (row.keyId === keyId ? { ...row, acknowledgedMsAgo: 0 } : row));
  }
  async claim(_where: unknown, use: WorkingKeyUse) {
    if (this.claims.has(use)) return false;
    this.claims.add(use);
    return true;
  }
  async release(_where: unknown, use: WorkingKeyUse) {
    this.claims.delete(use);
  }
}
