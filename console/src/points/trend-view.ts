/** What the trends of a page show, as its address says: a range up to now or a chosen span, and the points beside its own. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { TrendRange } from '../addresses.ts';
import type { TimeSpan } from './trend-span.ts';

const rangeSeconds: Readonly<Record<TrendRange, number>> = {
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 34_560_000,
};

export interface TrendView {
  readonly range: TrendRange;
  readonly seconds: number;
  /** Null: the range up to now. */
  readonly chosen: TimeSpan | null;
  /** Keys of the points that are compared. */
  readonly beside: readonly string[];
  readonly onRange: (range: TrendRange) => void;
  readonly onChoose: (span: TimeSpan | null) => void;
  readonly onCompare: (beside: readonly string[]) => void;
}

const separator = ',';

export function useTrendView(): TrendView {
  const { pointKey } = useParams({ from: '/points/$pointKey' });
  const { range = 'hour', from, to, with: keys = '' } = useSearch({ from: '/points/$pointKey' });
  const navigate = useNavigate({ from: '/points/$pointKey' });
  return useMemo(() => {
    const go = (next: object): void =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
    return {
      range,
      seconds: rangeSeconds[range],
      chosen: from === undefined || to === undefined || to <= from ? null : { from, to },
      beside: [...new Set(keys.split(separator))].filter((key) => key !== '' && key !== pointKey),
      onRange: (next) => go({ range: next, from: undefined, to: undefined }),
      onChoose: (span) => go({ from: span?.from, to: span?.to }),
      onCompare: (next) => go({ with: next.length === 0 ? undefined : next.join(separator) }),
    };
  }, [pointKey, range, from, to, keys, navigate]);
}
