import { describe, expect, test } from 'vitest';
import { fetchKeySet, type GuardedRequest, type GuardedResponse } from '../../src/outbound/guarded-fetch.ts';

const WHOLE: GuardedResponse = { status: 200, headers: {}, body: Buffer.from('{"keys":[]}'), isCut: false };

function fetcherOf(response: Partial<GuardedResponse>) {
  const asked: GuardedRequest[] = [];
  const request = async (given: GuardedRequest) => {
    asked.push(given);
    return { ...WHOLE, ...response };
  };
  return { asked, request };
}

describe('a key set is fetched', () => {
  test('a key set is fetched within a time and up to a size, with no credentials in the request', async () => {
    const fetcher = fetcherOf({});
    expect(await fetchKeySet(fetcher, 'https://shop.example/keys')).toBe('{"keys":[]}');
    expect(fetcher.asked).toEqual([
      {
        url: new URL('https://shop.example/keys'),
        method: 'GET',
        headers: { accept: 'application/jwk-set+json, application/json' },
        timeoutMs: 3_000,
        maxResponseBytes: 131_072,
      },
    ]);
  });

  test.each([
    ['a redirect', { status: 302 }],
    ['nothing there', { status: 404 }],
    ['no content', { status: 204 }],
    ['a fault', { status: 500 }],
    ['more than there is room for, or half of it', { isCut: true }],
  ])('a key set is fetched without success if the response is %s', async (_, response) => {
    await expect(fetchKeySet(fetcherOf(response), 'https://shop.example/keys')).rejects.toMatchObject({
      code: 'RESPONSE_BROKEN',
    });
  });

  test('a key set is not fetched from an invalid URL', async () => {
    const fetcher = fetcherOf({});
    await expect(fetchKeySet(fetcher, 'keys')).rejects.toMatchObject({ code: 'URL_REFUSED' });
    expect(fetcher.asked).toEqual([]);
  });
});
