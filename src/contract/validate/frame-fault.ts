/** Why a receiver refuses a frame: the code of its answer, the place and the rule [processor §5]. */
import type { WireIssue } from '../wire/issue.ts';

export interface FrameFault extends WireIssue {
  readonly code: 'FRAME_INVALID' | 'UNIT_UNSUPPORTED' | 'QUALITY_REJECTED';
}

export function invalid(path: string, rule: string): FrameFault {
  return { code: 'FRAME_INVALID', path, rule };
}

export function unfit(path: string, rule: string): FrameFault {
  return { code: 'QUALITY_REJECTED', path, rule };
}

/** Runs `checks` in order and stops at the first fault. */
export function firstFault(...checks: readonly (() => FrameFault | null)[]): FrameFault | null {
  for (const check of checks) {
    const fault = check();
    if (fault !== null) return fault;
  }
  return null;
}
