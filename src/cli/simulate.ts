import { parseArgs } from 'node:util';
import { StartError } from '../errors.ts';
import { createLog } from '../ops/log.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import { startSimulator } from '../simulator/start-simulator.ts';
import { untilAskedToStop } from './until-asked-to-stop.ts';

/** `tapwire simulate type-1=9101 [TYPE=PORT ...]`: switches that any terminal software can be pointed at. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      seed: { type: 'string' },
      latency: { type: 'string' },
      ledger: { type: 'string', default: '0' },
    },
  });
  const types = await loadProcessors({ external: (process.env.PROCESSORS ?? '').split(',').filter(Boolean) });
  const wanted = (positionals.length > 0 ? positionals : ['type-1=9101']).map((word) => {
    const [type = '', port = ''] = word.split('=');
    const processor = types.get(type);
    if (!processor || !/^\d{1,5}$/.test(port)) {
      throw new StartError('BAD_CONFIG', `${word}: expected TYPE=PORT with one of ${[...types.keys()].join(', ')}`);
    }
    return { processor, port: Number(port) };
  });
  const log = createLog('info', 'switch');
  const simulator = await startSimulator({
    processors: wanted,
    host: values.host,
    ledgerPort: Number(values.ledger),
    ...(values.seed !== undefined && { seed: Number(values.seed) }),
    ...(values.latency !== undefined && { latency: values.latency }),
    onEvent: (event) => log.warn(event, 'a request was refused'),
  });
  wanted.forEach(({ processor }, index) => {
    console.log(`${processor.name} listens on ${values.host}:${simulator.ports[index]}`);
  });
  console.log(`ledger: http://${values.host}:${simulator.ledgerPort}/ledger`);
  await untilAskedToStop();
  await simulator.close();
  return 0;
}
