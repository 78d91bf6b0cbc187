import { UserFixableError } from './tapwire-error.ts';

/**
 * Why the gateway, or any command, cannot start. The user sees it in one line, before exit code 1. BAD_USAGE: the
 * arguments are not valid; the user sees the usage instead, before exit code 2.
 */
export type StartErrorCode =
  | 'NO_DATABASE'
  | 'DATABASE_TOO_OLD'
  | 'SCHEMA_TOO_NEW'
  | 'BAD_CONFIG'
  | 'BAD_USAGE'
  | 'ALREADY_RUNNING'
  | 'BAD_PROCESSOR'
  | 'PORT_IN_USE'
  | 'PROCESS_FAILED';

export class StartError extends UserFixableError<StartErrorCode> {}

/** Why a plug-in, a processor or a reader format, cannot be used. */
export type PlugInErrorCode = 'PLUG_IN_NOT_FOUND' | 'PLUG_IN_BROKEN' | 'PLUG_IN_INVALID' | 'PLUG_IN_DUPLICATE';

/** A plug-in that is missing, cannot be loaded or is not a plug-in: the message names the file and the reason. */
export class PlugInError extends UserFixableError<PlugInErrorCode> {}

/** Why a simulated switch cannot be started as asked. */
export type SimulatorErrorCode =
  | 'LATENCY_INVALID'
  | 'FAULT_INVALID'
  | 'MANNERS_UNKNOWN'
  | 'PORT_TAKEN'
  | 'RECORDING_INVALID';

export class SimulatorError extends UserFixableError<SimulatorErrorCode> {}
