/** Health of a process for load balancers, container runtimes and people. A release may add members. */
import { z } from 'zod';

export const liveness = z
  .object({ status: z.literal('ok').describe('Status of the process; always `ok`') })
  .meta({ id: 'Liveness' });

export const readiness = z
  .looseObject({
    status: z.enum(['ok', 'unready']).describe('Whether the process accepts traffic: `ok` or `unready`'),
    database: z.enum(['up', 'down']).describe('State of the database connection'),
    isDraining: z
      .boolean()
      .describe('Whether the process is stopping: it completes open requests and refuses new ones'),
    switches: z
      .record(z.string(), z.string())
      .optional()
      .describe(
        'Reachability of each switch, by acquirer id and processor id; outside dev, absent without METRICS_TOKEN',
      )
      .meta({ examples: [{ '1 1': 'ready' }] }),
    hsm: z
      .record(z.string(), z.string())
      .optional()
      .describe('Status of each HSM device, by name; absent without devices and, outside dev, without METRICS_TOKEN')
      .meta({ examples: [{ 'hsm-1': 'ready' }] }),
  })
  .meta({ id: 'Readiness' });

export const health = readiness
  .extend({
    switches: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Connection statistics of each switch, by acquirer id and processor id; outside dev, absent without METRICS_TOKEN',
      ),
  })
  .meta({ id: 'Health' });
