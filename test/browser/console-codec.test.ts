import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { bytesOfHex, compareMessages, encodeJson, readMessage } from '../../src/codecs/iso8583/message-inspection.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type NeutralSpec, specOf } from '../vectors/neutral-spec.ts';
import { expectToFit } from './accessible.ts';
import { launchChromium } from './chromium.ts';
import { consoleVisits, expectHarmless } from './console-visits.ts';

const PAN = '4111111111111111';
const SALE = { mti: '0200', pan: PAN, processingCode: '000000', amount: '000000001000', stan: '000001' };

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const { visit, addressOf } = consoleVisits(
  () => installation,
  () => browser,
);

interface Vector {
  readonly name: string;
  readonly wireHex: string;
  readonly spec: NeutralSpec;
}

/** What a person sees of a message: read, encoded again without masking, and compared with another. */
function resultOf(tool: Tool, spec: Spec, hex: string, other: string): string {
  const results = [];
  for (const unmasked of [false, true]) {
    try {
      const bytes = tool.bytesOfHex(hex);
      const { error, ...read } = tool.readMessage(spec, bytes, { unmasked });
      results.push({ ...read, error: error && [error.code, error.field, error.offset, error.message] });
      results.push(tool.compareMessages(spec, bytes, tool.bytesOfHex(other), { unmasked }));
      results.push(tool.encodeJson(spec, read));
    } catch (fault) {
      results.push(String((fault as Error).message));
    }
  }
  return JSON.stringify(results);
}

type Tool = Pick<
  typeof import('../../src/codecs/iso8583/message-inspection.ts'),
  'bytesOfHex' | 'compareMessages' | 'encodeJson' | 'readMessage'
>;

describe('the page that decodes messages', () => {
  test('gives the same results in a browser as in Node, for every vector', async () => {
    const { page } = await visit('viewer', '/ops/codec');
    const file = new URL('../vectors/iso8583.json', import.meta.url);
    const vectors = (JSON.parse(readFileSync(file, 'utf8')) as Vector[]).filter(({ spec }) => spec.mti && spec.bitmap);
    const tool = { bytesOfHex, compareMessages, encodeJson, readMessage };
    const sale = encodeJson(type1.spec, SALE);
    const cases = [
      { name: 'a sale', spec: type1.spec as Spec, hex: sale, other: sale.replace('3130303000', '3230303000') },
      ...vectors.map(({ name, wireHex, spec }, index) => ({
        name,
        spec: specOf(spec),
        hex: wireHex,
        other: vectors[(index + 1) % vectors.length]!.wireHex,
      })),
    ];
    expect(cases.length).toBeGreaterThan(20);
    for (const { name, spec, hex, other } of cases) {
      const inBrowser = await page.evaluate(
        `(async () => (${resultOf.toString()})(await import('/ops/codec/codecs/iso8583/message-inspection.ts'), ${JSON.stringify(spec)}, '${hex}', '${other}'))()`,
      );
      expect(inBrowser, name).toBe(resultOf(tool, spec, hex, other));
    }
  });

  test('decodes, encodes and compares with the keyboard alone, masked by default, and sends nothing', async () => {
    const visited = await visit('operator');
    const { page } = visited;
    const hex = encodeJson(type1.spec, SALE);
    await page.getByRole('link', { name: 'Decode' }).press('Enter');
    await page.locator('#decode-form button:enabled').waitFor();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`));
    await page.locator('#codec-spec').selectOption('type-1');
    await page.getByLabel(/^Hex of the message/).focus();
    await page.keyboard.insertText(`00 ${(hex.length / 2).toString(16).padStart(2, '0')}\n${hex.toLowerCase()}`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const decoded = page.locator('#decoded');
    await decoded.getByText('411111******1111').waitFor();
    await decoded.getByText('Skipped the length header').waitFor();
    expect(await decoded.textContent()).not.toContain(PAN);
    await expectToFit(page, 'codec');
    await decoded.getByRole('button', { name: 'Edit and encode' }).press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#encoded').getByText('decode it with card data shown').waitFor();
    await page.getByLabel('Show card data').press('Space');
    await page.locator('#decode-form button').press('Enter');
    await decoded.getByText(PAN).waitFor();
    await decoded.getByRole('button', { name: 'Edit and encode' }).press('Enter');
    await page.locator('#encode-form button').press('Enter');
    expect(await page.locator('#encoded .hex').textContent()).toBe(hex);
    await page.getByLabel('Hex of the first message').fill(hex);
    await page.getByLabel('Hex of the second message').fill(encodeJson(type1.spec, { ...SALE, stan: '000002' }));
    await page.locator('#diff-form button').press('Enter');
    await page.locator('#differences').getByText('000002').waitFor();
    expect(await page.locator('#differences tbody tr').count()).toBe(1);
    await page.getByLabel(/^Hex of the message/).fill('0200 7');
    await page.locator('#decode-form button').press('Enter');
    await decoded.getByText('two for each byte').waitFor();
    // Every page of the console looks after the gateway and reads names, without any content of its own.
    const own = ['/ops/availability', '/ops/data/names'].map((path) => `GET ${addressOf(path)} `);
    expect(sent.filter((each) => !own.includes(each))).toEqual([]);
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(PAN);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.goBack();
    await page.locator('#codec-title').waitFor();
    expect(await page.locator('#codec').textContent()).not.toContain(PAN);
    expect(await page.getByLabel('Hex of the first message').inputValue()).toBe('');
    await expectHarmless(visited);
  });
});
