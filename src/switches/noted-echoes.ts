import type { ProcessorProtocol } from '../processor-kit/switch-protocol.ts';

/** The protocol, with word of every echo of ours that the switch answers. */
export function notedEchoes(protocol: ProcessorProtocol, onAnswered: () => void): ProcessorProtocol {
  const { echo } = protocol;
  if (!echo) return protocol;
  return {
    ...protocol,
    echo: async (line) => {
      const isAnswered = await echo(line);
      if (isAnswered) onAnswered();
      return isAnswered;
    },
  };
}
