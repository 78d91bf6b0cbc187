import type { ProblemAnswer } from './problem.ts';
import { REJECTIONS } from './rejections.ts';

/** A value that a schema refuses, as the validator reports it. */
interface ValidationIssue {
  /** The kind of fault, such as `unrecognized_keys`. */
  readonly keyword?: string;
  readonly instancePath: string;
  readonly message?: string;
}

export interface ValidationFailure {
  readonly validation: readonly ValidationIssue[];
  readonly validationContext?: string;
}

/** The response to values that a schema refuses, with a pointer to each. Names that the caller chose are not repeated. */
export function invalidValuesProblem({ validation, validationContext }: ValidationFailure): ProblemAnswer {
  const isBody = validationContext === undefined || validationContext === 'body';
  const where = isBody ? '' : `/${validationContext}`;
  return {
    status: 400,
    errorCode: 104,
    detail: REJECTIONS.INVALID_VALUES.detail,
    errors: validation.map((issue) => ({
      pointer: `${where}${pointerOf(issue)}`,
      detail: detailOf(issue, isBody ? 'property' : 'parameter'),
    })),
  };
}

function pointerOf({ keyword, instancePath }: ValidationIssue): string {
  // The last segment is the refused name itself.
  if (keyword === 'invalid_key') return instancePath.slice(0, instancePath.lastIndexOf('/'));
  // The validator writes the whole body as `/`. As a JSON pointer (RFC 6901) it is the empty string.
  return instancePath === '/' ? '' : instancePath;
}

/** The validator's own text for an unknown name contains the name. */
function detailOf({ keyword, message = 'is invalid' }: ValidationIssue, noun: 'property' | 'parameter'): string {
  return keyword === 'unrecognized_keys' ? `contains an unknown ${noun}` : message;
}
