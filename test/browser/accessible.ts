import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const require = createRequire(import.meta.url);
/** The short form takes a browser half the time to read. */
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** A phone, a laptop and a wide screen. */
const WIDTHS = [360, 1440, 2560];
const COLOR_SCHEMES = ['light', 'dark'] as const;
/** Pictures to look at are written to this folder if it is given. */
const PICTURES = process.env.CONSOLE_PICTURES;
/** Whether axe-core checks every element at every width in both color schemes. */
const IS_EVERY_VIEW = process.env.EVERY_VIEW === '1';

/** The rules whose result a color scheme can change: it changes nothing but colors. They take most of the time. */
const OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** Names the kinds of elements that are visible, and which of them scroll: what the rules of axe-core judge by. */
const KINDS_SHOWN = `[...new Set(Array.from(document.body.querySelectorAll('*'), (each) => {
  if (!each.checkVisibility()) return '';
  const isLonger = each.scrollHeight > each.clientHeight || each.scrollWidth > each.clientWidth;
  const scrolls = isLonger && /auto|scroll/.test(getComputedStyle(each).overflow) ? 'scrolls' : '';
  return [each.tagName, each.getAttribute('class'), scrolls].join(' ');
}))]`;

/**
 * Selects visible elements with text of their own, five of each look that was not selected before. One character is no
 * text: axe-core does not judge its color. The look is that of the element and of all elements around it, so that the
 * rules of colors give the same result for all elements of a look. The looks are kept in the page.
 */
const OF_NEW_LOOKS = `(() => {
  const looks = new Map();
  const lookOf = (each) => {
    if (each === null) return '';
    if (looks.has(each)) return looks.get(each);
    const { color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, textDecorationLine } = getComputedStyle(each);
    const own = [color, backgroundColor, backgroundImage, opacity, fontSize, fontWeight, textDecorationLine].join(' ');
    const around = lookOf(each.parentElement);
    const isClear = backgroundColor === 'rgba(0, 0, 0, 0)' && opacity === '1';
    const look = isClear && around.endsWith(own) ? around : around + '; ' + own;
    looks.set(each, look);
    return look;
  };
  const isText = (text) => /[\\p{L}\\p{N}].*[\\p{L}\\p{N}]/su.test(text);
  const hasText = (each) =>
    each.matches('select') ||
    (each.matches('input, textarea') && isText(each.value || each.placeholder)) ||
    [...each.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && isText(data));
  const counts = new Map();
  const chosen = [...document.body.querySelectorAll('*')].filter((each) => {
    if (!hasText(each) || !each.checkVisibility()) return false;
    const look = lookOf(each);
    counts.set(look, (counts.get(look) ?? 0) + 1);
    return !globalThis.knownLooks.has(look) && counts.get(look) <= 5;
  });
  for (const look of counts.keys()) globalThis.knownLooks.add(look);
  return chosen;
})()`;

const EVERYTHING = '[document.documentElement]';

/** What axe-core looks for: by every rule that is on by default, by those of colors, or by the others. */
const EVERY_RULE = {};
const RULES_OF_COLORS = { runOnly: OF_COLORS };
const OTHER_RULES = { rules: Object.fromEntries(OF_COLORS.map((rule) => [rule, { enabled: false }])) };

/**
 * Only violations are described, and only they leave the page. With axe's default, which also describes every element
 * that passes, a check costs three times the processor time.
 *
 * @param elements an expression for those to check
 */
async function expectNoViolation(page: Page, elements: string, rules: object): Promise<void> {
  // A document keeps it until the next one is loaded.
  if (!(await page.evaluate<boolean>('Boolean(globalThis.axe)'))) await page.evaluate(AXE);
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const violations = await page.evaluate<string[]>(`(async () => {
    const include = ${elements};
    if (include.length === 0) return [];
    const { violations } = await axe.run({ include }, ${options});
    return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '));
  })()`);
  expect(violations).toEqual([]);
}

/** The page as it is shown now. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(`globalThis.knownLooks = new Set(); ${OF_NEW_LOOKS}; undefined`);
  await expectNoViolation(page, EVERYTHING, EVERY_RULE);
}

/** As `expectAccessible`, and the colors in dark mode. */
export async function expectAccessibleInBoth(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectColors(page);
}

/** What was not checked since `expectAccessible`. */
const expectColors = (page: Page) =>
  expectNoViolation(page, IS_EVERY_VIEW ? EVERYTHING : OF_NEW_LOOKS, RULES_OF_COLORS);

/**
 * At each width, light and dark, nothing is wider than the screen, and everything is accessible. Every element is checked
 * on a phone, where everything is narrowest; then what a wider screen shows besides, and the colors in dark mode.
 */
export async function expectToFit(page: Page, name: string): Promise<void> {
  const checked = new Set<string>();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 1000 });
    const kinds = await page.evaluate<string[]>(KINDS_SHOWN);
    const isNew = kinds.some((kind) => !checked.has(kind));
    for (const kind of kinds) checked.add(kind);
    for (const colorScheme of COLOR_SCHEMES) {
      await page.emulateMedia({ colorScheme });
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}-${width}.png` });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} ${width}`).toBe(width);
      const isFirst = width === WIDTHS[0] || IS_EVERY_VIEW;
      if (isFirst && colorScheme === 'light') await expectAccessible(page);
      else await expectColors(page);
      if (!isFirst && isNew && colorScheme === 'light') await expectNoViolation(page, EVERYTHING, OTHER_RULES);
    }
  }
  await page.setViewportSize({ width: 1440, height: 1000 });
}
