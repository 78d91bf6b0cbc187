import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * Only violations are described, and only they leave the page. With axe's default, which also describes every element
 * that passes, a check costs three times the processor time.
 */
const DESCRIBE_VIOLATIONS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;

/** By every rule of axe-core that is on by default. */
export async function expectAccessible(page: Page, what?: string): Promise<void> {
  // A document keeps it until the next one is loaded.
  if (!(await page.evaluate<boolean>('Boolean(globalThis.axe)'))) await page.evaluate(axe.source);
  expect(await page.evaluate<string[]>(DESCRIBE_VIOLATIONS), what).toEqual([]);
}
