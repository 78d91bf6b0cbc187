import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';

/** OpenTelemetry's context manager on Node's AsyncLocalStorage, which follows awaits, timers and callbacks. */
export class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Args extends unknown[], Work extends (...args: Args) => ReturnType<Work>>(
    context: Context,
    work: Work,
    self?: ThisParameterType<Work>,
    ...args: Args
  ): ReturnType<Work> {
    return this.#storage.run(context, () => work.call(self, ...args));
  }

  /** Event emitters are returned unchanged, because no code here binds them. */
  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target;
    return ((...args: unknown[]) => this.#storage.run(context, () => target(...args))) as T;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
