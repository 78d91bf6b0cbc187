import type { TapLoad } from '../basics/limits/tap-load.ts';
import { overrideMethods } from '../observe/override-methods.ts';
import type { Switch, Switches } from '../payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';

/** The dependencies of HTTP requests, which do not count as load while they wait for a switch or another process. */
export function pauseTapLoad(deps: TransactionDependencies, load: TapLoad): TransactionDependencies {
  const { path, wakeups } = deps;
  return {
    ...deps,
    path: path.kind === 'direct' ? { ...path, switches: pausing(path.switches, load) } : path,
    wakeups: overrideMethods(wakeups, {
      moved: (key, timeoutMs) => load.pause(() => wakeups.moved(key, timeoutMs)),
    }),
  };
}

function pausing(switches: Switches, load: TapLoad): Switches {
  // A switch is wrapped once, and not for each tap.
  const wrapped = new WeakMap<Switch, Switch>();
  const wrap = (target: Switch) => {
    const made = pausingSwitch(target, load);
    wrapped.set(target, made);
    return made;
  };
  return {
    find: (acquirerId, processorId) => {
      const found = switches.find(acquirerId, processorId);
      return found && (wrapped.get(found) ?? wrap(found));
    },
  };
}

function pausingSwitch(target: Switch, load: TapLoad): Switch {
  return overrideMethods(target, {
    takeSlot: async (connectionId) => {
      const slot = await target.takeSlot(connectionId);
      return (
        slot && {
          authorize: (request, timing, about) => load.pause(() => slot.authorize(request, timing, about)),
          reverse: (reversal, timing, about) => slot.reverse(reversal, timing, about),
          complete: (completion, timing, about) => slot.complete(completion, timing, about),
          release: () => slot.release(),
        }
      );
    },
  });
}
