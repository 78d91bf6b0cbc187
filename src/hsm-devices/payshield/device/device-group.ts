import { HsmDeviceError, HsmUnavailable } from '../../../basics/errors.ts';
import type { HsmDeviceState, HsmDevices } from '../../../switching/hsm/hsm-calls.ts';
import { blameOf, type HostCommand } from '../host-command.ts';
import type { Device } from './device.ts';

/**
 * Devices with the same local master key, any of which can carry out a command. Each command is sent to the device with
 * the least load. If that device fails, the next one has the rest of the time limit. A command whose connection ended is
 * repeated once on another connection of the device.
 */
export class DeviceGroup implements HsmDevices {
  readonly #devices: readonly Device[];
  readonly #timeLimitMs: number;

  constructor(devices: readonly Device[], timeLimitMs: number) {
    this.#devices = devices;
    this.#timeLimitMs = timeLimitMs;
  }

  /** Resolves when each device is ready or has failed, at the latest after the time limit of a call. */
  async start(): Promise<void> {
    const started = Promise.all(this.#devices.map((device) => device.started));
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#timeLimitMs);
    });
    await Promise.race([started, limit]);
    clearTimeout(timer);
  }

  /**
   * @param user whose command it is: users of a busy device take turns
   * @throws HsmUnavailable if no device succeeded in time, or the PIN block is to blame; its cause is the last HsmDeviceError
   */
  async call<Result>(command: HostCommand<Result>, user: string): Promise<Result> {
    const endsAtMs = performance.now() + this.#timeLimitMs;
    const untried = new Set(this.#devices.filter(({ status }) => status === 'ready'));
    const lost = new Set<Device>();
    let failure = new HsmDeviceError('UNREACHABLE', `${command.code}, no device is ready`);
    while (untried.size > 0) {
      const leftMs = endsAtMs - performance.now();
      if (leftMs <= 0) break;
      const device = leastLoaded(untried);
      try {
        return await device.call(command, user, leftMs / untried.size);
      } catch (error) {
        if (!(error instanceof HsmDeviceError)) throw error;
        failure = error;
        if (error.errorCode !== undefined && blameOf(error.errorCode) === 'pin') break;
        // A device that has another connection gets a second chance.
        if (error.code === 'CONNECTION_LOST' && device.status === 'ready' && !lost.has(device)) lost.add(device);
        else untried.delete(device);
      }
    }
    throw new HsmUnavailable({ cause: failure });
  }

  deviceStates(): readonly HsmDeviceState[] {
    return this.#devices.map((device) => device.state());
  }

  async close(): Promise<void> {
    await Promise.all(this.#devices.map((device) => device.close()));
  }
}

function leastLoaded(devices: ReadonlySet<Device>): Device {
  let [least] = devices;
  for (const device of devices) if (device.load < least!.load) least = device;
  return least!;
}
