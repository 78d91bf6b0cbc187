import type { WorkingKeyUse } from '../../src/kits/processor-kit/processor.ts';
import type {
  ExchangedKey,
  ExchangedKeys,
  LiveKey,
  ReplacedKey,
  Replacement,
} from '../../src/switching/switches/ports.ts';

/** Exchanged keys of one switch, in memory: replaces the database that workers share. */
export class KeptKeys implements ExchangedKeys {
  rows: LiveKey[] = [];
  replaced: ReplacedKey[] = [];
  readonly claims = new Set<WorkingKeyUse>();
  isDown = false;

  async read() {
    return { live: this.rows, replaced: this.replaced };
  }
  async keep(_where: unknown, key: ExchangedKey) {
    if (this.isDown) throw new Error('the database is unavailable');
    const known = this.rows.find(({ kcv }) => kcv === key.kcv);
    if (known) return known;
    this.rows = [{ ...key, announcedMsAgo: 0, acknowledgedMsAgo: null, endsInMs: null }, ...this.rows];
    return key;
  }
  async refuse() {
    return true;
  }
  async acknowledge(_where: unknown, { keyId, use }: Pick<ExchangedKey, 'keyId' | 'use'>, replacement: Replacement) {
    this.rows = this.rows.map((row) => (row.keyId === keyId ? { ...row, acknowledgedMsAgo: 0 } : row));
    if (this.replaced.some((key) => key.use === use)) return;
    const endsInMs = replacement.overlapSeconds * 1_000;
    this.replaced = [...this.replaced, ...replacement.configured.map((id) => ({ use, keyId: id, endsInMs }))];
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
