import type { RoundTripHistogram } from '../connection/pool-stats.ts';

/**
 * - `ready`: takes commands.
 * - `starting`: its diagnostics have not passed yet.
 * - `unreachable`: no connection is open.
 * - `circuitOpen`: failed repeatedly; takes no commands until its diagnostics pass.
 * - `wrongLmk`: its local master key is not the configured one; takes no commands.
 */
export type HsmDeviceStatus = 'ready' | 'starting' | 'unreachable' | 'circuitOpen' | 'wrongLmk';

/** The state of one device, for metrics, health and doctor. Counters only increase. */
export interface HsmDeviceState {
  /** One of several interchangeable devices, a service with redundancy of its own, or a PKCS #11 token. */
  readonly kind: 'device' | 'service' | 'token';
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly status: HsmDeviceStatus;
  /** Open connections, of the configured number. */
  readonly connectionsReady: number;
  readonly connections: number;
  /** Commands without a response, and commands that wait for a connection. */
  readonly outstanding: number;
  readonly queued: number;
  readonly succeeded: number;
  /** Failed commands by code of HsmDeviceError. */
  readonly failures: Readonly<Record<string, number>>;
  /** Refused commands by error code of the manual. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Connections that ended. */
  readonly connectionsLost: number;
  /** Times that the circuit opened. */
  readonly circuitOpenings: number;
  /** The last failure in words: device, command and error code. */
  readonly lastFailure: string | undefined;
  /** The firmware that the last passed diagnostics reported. */
  readonly firmware: string | undefined;
  readonly lmkCheckValue: string | undefined;
  readonly roundTrips: RoundTripHistogram;
}

/** Implemented by an HSM with devices on the network. */
export interface HsmDevices {
  deviceStates(): readonly HsmDeviceState[];
}
