/** The thread of a token whose library blocks it in native code, which not even `terminate` ends. */
import { spawnSync } from 'node:child_process';

spawnSync('sleep', ['20']);
