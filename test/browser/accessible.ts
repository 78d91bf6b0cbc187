import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The rules whose result a color scheme can change: it changes nothing but colors. They take half the time of all. */
const OF_COLORS = ['color-contrast', 'link-in-text-block'];

/**
 * Only violations are described, and only they leave the page. With axe's default, which also describes every element
 * that passes, a check costs three times the processor time.
 */
const describe = (runOnly?: readonly string[]) => `axe.run(${JSON.stringify({ resultTypes: ['violations'], runOnly })})
  .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;

/**
 * By every rule of axe-core that is on by default.
 *
 * @param scheme `dark` if the same page is also checked in light mode: then only by the rules of colors
 */
export async function expectAccessible(page: Page, scheme: 'light' | 'dark' = 'light'): Promise<void> {
  // A document keeps it until the next one is loaded.
  if (!(await page.evaluate<boolean>('Boolean(globalThis.axe)'))) await page.evaluate(axe.source);
  const violations = await page.evaluate<string[]>(describe(scheme === 'dark' ? OF_COLORS : undefined));
  expect(violations, scheme).toEqual([]);
}
