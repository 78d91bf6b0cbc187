import type { Tenant } from '../../payments/ports/store-ports.ts';

const VALUE = /\$(?!\d)/g;

/**
 * Collects `and`-ed conditions on rows; those of a tenant always come first. Each has a name that represents its
 * text, so that all names together identify the statement.
 */
export class TenantConditions {
  readonly values: unknown[] = [];
  readonly #names: string[] = [];
  readonly #conditions: string[] = [];
  /** The condition that a row belongs to the tenant. */
  readonly ownSql: string;
  /** The parameters of its ids. */
  readonly acquirer: string;
  readonly integrator: string | undefined;
  readonly #ownNames: number;

  constructor({ acquirerId, integratorId, merchantId }: Tenant) {
    this.acquirer = this.add('acquirer', 'acquirer_id = $', acquirerId);
    this.integrator =
      integratorId === undefined ? undefined : this.add('integrator', 'integrator_id = $', integratorId);
    if (merchantId !== undefined) this.add('merchant', 'merchant_id = $', merchantId);
    this.ownSql = this.sql;
    this.#ownNames = this.#names.length;
  }

  /** Each `$` without a number in `condition` becomes the parameter of its value. @returns the parameter: `$3` */
  add(name: string, condition: string, value: unknown): string {
    const parameter = this.parameter(value);
    this.addPlain(
      name,
      condition.replaceAll(VALUE, () => parameter),
    );
    return parameter;
  }

  addIfGiven(name: string, condition: string, value: unknown): void {
    if (value !== undefined) this.add(name, condition, value);
  }

  addPlain(name: string, condition: string): void {
    this.#names.push(name);
    this.#conditions.push(condition);
  }

  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get sql(): string {
    return this.#conditions.join(' and ');
  }

  get name(): string {
    return this.#names.join(' ');
  }

  /** The same without the tenant's conditions. */
  get addedNames(): readonly string[] {
    return this.#names.slice(this.#ownNames);
  }
}
