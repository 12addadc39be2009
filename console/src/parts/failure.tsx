/** The reason of a failure, with what to do about it; every refusal has its correlation id. */
import { Button } from '@mantine/core';
import { ApiError } from '../../../src/api/client.ts';
import { t } from '../strings/index.ts';
import { Notice, Particulars } from './tag.tsx';

const words = t.common.failure;

export function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) return words.other(error instanceof Error ? error.message : String(error));
  switch (error.code) {
    case 'unreachable':
    case 'no-answer-in-time':
    case 'unexpected-answer':
      return words[error.code];
    case 'permission-denied':
      return words.denied;
    case 'unauthenticated':
      return words.unauthenticated;
    case 'rate-limited':
      return words.rateLimited(Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
    default:
      return error.status === 503 ? words.unavailable(error.message) : words.other(error.message);
  }
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const correlationId = error instanceof ApiError ? error.correlationId : null;
  return (
    <Notice
      tone="bad"
      role="alert"
      action={
        onRetry === undefined ? undefined : (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            {t.common.retry}
          </Button>
        )
      }
    >
      {failureText(error)}
      {correlationId !== null && <Particulars>{words.correlation(correlationId)}</Particulars>}
    </Notice>
  );
}
