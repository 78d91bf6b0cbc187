import { styleText } from 'node:util';
import type { Output } from './output.ts';

/**
 * Text in the colour of its meaning, if the output is a terminal with colours. `NO_COLOR` switches colours off,
 * `FORCE_COLOR` switches them on in files and pipes.
 */
export const good = (text: string, output?: Output) => styled('green', text, output);
export const poor = (text: string, output?: Output) => styled('yellow', text, output);
export const bad = (text: string, output?: Output) => styled('red', text, output);

function styled(style: Parameters<typeof styleText>[0], text: string, output: Output = process.stdout): string {
  return styleText(style, text, { stream: output as NodeJS.WriteStream });
}
