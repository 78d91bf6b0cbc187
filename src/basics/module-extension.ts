/**
 * The extension of this program's own modules: TypeScript in the repository, JavaScript in the package that others
 * install, because Node runs no TypeScript inside `node_modules`. For modules that are found by path, not by an import.
 */
export const MODULE_EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** How its user calls the program: from the repository, or as an installed package. */
export const TAPWIRE_COMMAND = MODULE_EXTENSION === 'ts' ? 'npm run -s tapwire --' : 'npx tapwire';
