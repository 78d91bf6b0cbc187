import { UserFixableError } from '../../basics/errors.ts';

/** Why an acquirer cannot be moved, or the list of cells cannot be used. */
export type CellErrorCode = 'CELLS_INVALID' | 'CELL_UNREACHABLE' | 'CANNOT_MOVE' | 'NOT_DRAINED' | 'MOVE_STUCK';

export class CellError extends UserFixableError<CellErrorCode> {}
