import { registerHooks } from 'node:module';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';

/** Locations of the modules that a plug-in may import. */
const KITS = /^(?:#|@tapwire\/)(processor-kit|reader-kit)$/;
const SCHEMAS = /^(?:#|@tapwire\/(?:processor-kit|reader-kit)\/)schemas\/(.*)$/;

let areProvided = false;

/**
 * A plug-in imports its kit as `#processor-kit` or as the package `@tapwire/processor-kit`, and `#schemas/*`. All of them
 * are those of the gateway that loads it, also if its own package.json leads to another version, for the types in an
 * editor.
 */
export function provideKits(): void {
  if (areProvided) return;
  areProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const [, kit] = KITS.exec(specifier) ?? [];
      const [, schema] = SCHEMAS.exec(specifier) ?? [];
      const path = kit ? `../${kit}/index` : schema && `../../../schemas/${schema}`;
      if (!path) return nextResolve(specifier, context);
      return { url: new URL(`${path}.${MODULE_EXTENSION}`, import.meta.url).href, shortCircuit: true };
    },
  });
}
