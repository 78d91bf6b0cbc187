/** As much of a browser as a sign-in needs: redirects with cookies, each sent only to the origin that set it. */
export class SignInBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Cookies for the origin of a URL. */
  cookiesOf(url: string): string {
    return [...(this.#cookies.get(new URL(url).origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  setCookie(url: string, name: string, value: string): void {
    const { origin } = new URL(url);
    const own = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, own);
    if (value === '') own.delete(name);
    else own.set(name, value);
  }

  async get(url: string): Promise<Response> {
    const response = await fetch(url, { redirect: 'manual', headers: { cookie: this.cookiesOf(url) } });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair] = cookie.split(';');
      this.setCookie(url, pair!.slice(0, pair!.indexOf('=')), pair!.slice(pair!.indexOf('=') + 1));
    }
    return response;
  }

  /** Follows redirects until `isEnd`, or a page. @returns the last address */
  async follow(url: string, isEnd: (url: string) => boolean = () => false): Promise<string> {
    for (let at = url, hops = 0; ; hops++) {
      if (isEnd(at) || hops > MAX_HOPS) return at;
      const response = await this.get(at);
      const next = response.headers.get('location');
      await response.arrayBuffer();
      if (next === null) return at;
      at = new URL(next, at).href;
    }
  }
}

const MAX_HOPS = 15;
