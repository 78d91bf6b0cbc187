/** An object with some methods replaced. The other methods can still access private members. */
export function overrideMethods<T extends object>(target: T, overrides: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
