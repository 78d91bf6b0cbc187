/** The thread of a token whose library blocks it in native code, which not even `terminate` ends. */
import { spawnSync } from 'node:child_process';
import { workerData } from 'node:worker_threads';

spawnSync('sh', ['-c', 'touch "$0" && exec sleep 20', (workerData as { modulePath: string }).modulePath]);
