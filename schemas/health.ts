/** What load balancers, container runtimes and people ask of a process. Members that are not listed may come with a release. */
import { z } from 'zod';

export const liveness = z.object({ status: z.literal('ok').describe('The process turns') }).meta({ id: 'Liveness' });

export const readiness = z
  .looseObject({
    status: z.enum(['ok', 'unready']).describe('Whether this process should be sent traffic'),
    database: z.enum(['up', 'down']).describe('Whether the database answers'),
    isDraining: z.boolean().describe('The process is being stopped: what is under way ends, nothing new is taken'),
    switches: z
      .record(z.string(), z.string())
      .optional()
      .describe('How reachable each switch is, by acquirer and processor id; absent without METRICS_TOKEN outside dev')
      .meta({ examples: [{ '1 1': 'ready' }] }),
  })
  .meta({ id: 'Readiness' });

export const health = readiness
  .extend({
    switches: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'What the lines to each switch have seen, by acquirer and processor id; absent without METRICS_TOKEN outside dev',
      ),
  })
  .meta({ id: 'Health' });
