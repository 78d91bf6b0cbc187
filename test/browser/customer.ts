import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { expect } from 'vitest';
import { expectAccessibleInBoth } from './accessible.ts';
import { openContext } from './chromium.ts';

/** The names of the states that the page shows. */
export type PhaseName =
  | 'waiting'
  | 'scanned'
  | 'started'
  | 'processing'
  | 'paid'
  | 'declined'
  | 'uncertain'
  | 'expired'
  | 'broken'
  | 'unknown'
  | 'reader-app'
  | 'offline';

/** The narrowest phone in use. */
const NARROW_PIXELS = 320;
/** Collects violations of the page's policy, from before its first line on. */
const WATCH_POLICY = `
  globalThis.forbidden = [];
  addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
    globalThis.forbidden.push([violatedDirective, blockedURI, sample].join(' ')));`;

/** A person with an open pay page. */
export class Customer {
  readonly page: Page;
  /** Errors of the page's scripts. */
  readonly #faults: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('pageerror', ({ message }) => this.#faults.push(message));
  }

  /** Opens an address in a new browser context. */
  static async open(browser: Browser, url: string, options?: BrowserContextOptions): Promise<Customer> {
    const customer = await Customer.before(browser, options);
    await customer.page.goto(url);
    return customer;
  }

  /** With an empty page, for preparations. */
  static async before(browser: Browser, options?: BrowserContextOptions): Promise<Customer> {
    const context = await openContext(browser, options);
    await context.addInitScript(WATCH_POLICY);
    return new Customer(await context.newPage());
  }

  /** Waits until the page shows a state. It polls every two seconds; here immediately. */
  async sees(phase: PhaseName): Promise<void> {
    const shown = this.page.locator(`main[data-phase="${phase}"]`);
    const look = setInterval(() => void this.lookAgain(), 200);
    await shown.waitFor().finally(() => clearInterval(look));
  }

  /** As when the person returns to the page. */
  async lookAgain(): Promise<void> {
    await this.page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`).catch(() => {});
  }

  /** All visible text, without the title of the page. */
  text(): Promise<string> {
    return this.page.locator('main').innerText();
  }

  title(): Promise<string> {
    return this.page.title();
  }

  /** @param hasText selects the part with this text, also if it appears later */
  part(selector: string, hasText?: string): Locator {
    return this.page.locator(selector, { ...(hasText !== undefined && { hasText }) });
  }

  /** The content of the QR code, as a camera sees it. */
  async readQrCode(): Promise<string> {
    const picture = this.part('#qr-code');
    await picture.waitFor();
    const png = (await picture.screenshot()).toString('base64');
    const paper = await this.page.context().newPage();
    // One character per pixel: a browser transfers text faster than numbers.
    const [width, pixels] = await paper.evaluate<[number, string]>(`
      (async () => {
        const picture = new Image();
        picture.src = 'data:image/png;base64,${png}';
        await picture.decode();
        const { width, height } = picture;
        const canvas = new OffscreenCanvas(width, height).getContext('2d');
        canvas.drawImage(picture, 0, 0);
        const reds = canvas.getImageData(0, 0, width, height).data.filter((_, at) => at % 4 === 0);
        return [width, Array.from(reds, (red) => (red < 128 ? '#' : ' ')).join('')];
      })()`);
    await paper.close();
    const data = Uint8Array.from(pixels, (pixel) => (pixel === '#' ? 0 : 255));
    const rgb = Uint8Array.from({ length: 3 * data.length }, (_, at) => data[Math.floor(at / 3)]!);
    return decodeQR({ width, height: pixels.length / width, data: rgb });
  }

  /** Accessible in light and dark mode, on the narrowest phone, and without policy violations. */
  async expectWellMade(): Promise<void> {
    await expectAccessibleInBoth(this.page);
    await this.expectSound();
  }

  /** No wider than the narrowest phone, and without policy violations. */
  async expectSound(): Promise<void> {
    const { page } = this;
    expect(this.#faults).toEqual([]);
    expect(await page.evaluate('forbidden')).toEqual([]);
    const before = page.viewportSize();
    await page.setViewportSize({ width: NARROW_PIXELS, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW_PIXELS);
    if (before) await page.setViewportSize(before);
  }

  async close(): Promise<void> {
    await this.page.unrouteAll({ behavior: 'ignoreErrors' }); // a request may still be under way
    await this.page.context().close();
  }
}
