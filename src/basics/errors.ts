// Replaces the texts of zod.
import './errors/issue-texts.ts';

/**
 * Exports every error of Tapwire. There is one class for each decision that a caller makes, and one stable `code`
 * for each cause. A message names what is wrong and where, never the bytes: card data must not reach a log through
 * an error.
 */
export * from './errors/codec-errors.ts';
export * from './errors/gateway-errors.ts';
export * from './errors/rejections.ts';
export * from './errors/request-errors.ts';
export * from './errors/tapwire-error.ts';
