import type { ProcessorProtocol } from '../processor-kit/switch-protocol.ts';

/** Wraps the protocol and reports every echo of the gateway that the switch answers. */
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
