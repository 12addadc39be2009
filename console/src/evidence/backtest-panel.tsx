/** A backtest [rules §10]: its candidate, inputs and time range, and its result. It ends when the page is left. */
import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { type KeptDraft, keptDraft } from '../editor/draft-place.ts';
import { Failure } from '../parts/failure.tsx';
import { shownShare } from '../parts/number.ts';
import { useRevisions } from '../revisions/revision-queries.ts';
import { useSession } from '../session/session.ts';
import { evidenceWords } from '../strings/evidence.ts';
import { revisionWords } from '../strings/revisions.ts';
import { BacktestFindings } from './backtest-findings.tsx';
import classes from './evidence.module.css';
import { type BacktestOrder, useBacktest } from './evidence-queries.ts';
import { nodeNames } from './node-names.ts';
import { assumed, emptyPlant, PlantForm } from './plant-form.tsx';
import type { EvidenceParts } from './tests-panel.tsx';
import { isOrdered, lastHour, TimeRangeFields } from './time-range.tsx';

const words = evidenceWords.backtest;
const modes = ['recorded', 'replay', 'plant'] as const;

export function BacktestPanel({ rule, catalogue }: Pick<EvidenceParts, 'rule' | 'catalogue'>) {
  const [range, setRange] = useState(lastHour);
  const [mode, setMode] = useState<(typeof modes)[number]>('recorded');
  const [plant, setPlant] = useState(emptyPlant);
  const assume = mode === 'plant' ? assumed(plant) : undefined;
  const [what, setWhat] = useState('stored');
  const [compared, setCompared] = useState('');
  const draft = useKeptDraft(rule.id);
  const { start: run, stop, ...backtest } = useStoppable(rule.id);
  const start = (): void => {
    if (assume === null) return;
    const compare = compared === '' || mode === 'replay' ? {} : { compare: { revision: Number(compared) } };
    run({ ...range, mode, ...candidateOf(what, draft), ...compare, ...(assume === undefined ? {} : { assume }) });
  };
  const { older, showMore } = useRevisionOptions(rule.id);
  return (
    <div className={classes['column']} data-testid="backtest">
      <p className={classes['soft']}>{words.lead}</p>
      <TimeRangeFields range={range} onRange={setRange} />
      <Group>
        <NativeSelect
          label={words.mode}
          value={mode}
          data={modes.map((name) => ({ value: name, label: words.modes[name] }))}
          onChange={(event) => setMode(modes.find((name) => name === event.currentTarget.value) ?? mode)}
        />
        <NativeSelect
          label={words.what}
          value={what}
          data={[
            { value: 'stored', label: words.stored },
            ...(draft === null ? [] : [{ value: 'draft', label: words.draft }]),
            ...older,
          ]}
          onChange={(event) => setWhat(event.currentTarget.value)}
        />
        <NativeSelect
          label={words.compare}
          // A replay always compares with the recorded runs.
          disabled={mode === 'replay'}
          value={compared}
          data={[{ value: '', label: words.compareNone }, ...older]}
          onChange={(event) => setCompared(event.currentTarget.value)}
        />
        {showMore !== null && (
          <Button variant="default" onClick={showMore}>
            {revisionWords.more}
          </Button>
        )}
      </Group>
      <p className={classes['soft']}>{words.modeHints[mode]}</p>
      {mode === 'plant' && <PlantForm plant={plant} catalogue={catalogue} onPlant={setPlant} />}
      <RunButtons
        canStart={isOrdered(range) && assume !== null}
        share={backtest.isPending ? backtest.share : null}
        onStart={start}
        onStop={stop}
      />
      <Ending rule={rule} catalogue={catalogue} backtest={backtest} />
    </div>
  );
}

interface EndingParts extends Pick<EvidenceParts, 'rule' | 'catalogue'> {
  readonly backtest: Omit<ReturnType<typeof useStoppable>, 'start' | 'stop'>;
}

/** Its findings, or why there are none. */
function Ending({ rule, catalogue, backtest }: EndingParts) {
  const { data, error } = backtest;
  if (error?.name === 'AbortError') return <Text size="sm">{words.stopped}</Text>;
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return null;
  return <BacktestFindings {...backtest} result={data} catalogue={catalogue} nodeName={nodeNames(rule.flow_json)} />;
}

/** The draft of this person in this browser. */
function useKeptDraft(ruleId: number): KeptDraft | null {
  const session = useSession();
  const owner = { ruleId, subject: session.status === 'out' ? '' : session.facts.subject };
  const found = useQuery({
    queryKey: ['draft', owner.ruleId, owner.subject],
    queryFn: () => keptDraft(owner),
    gcTime: 0,
  });
  return found.data ?? null;
}

interface ButtonsParts {
  readonly canStart: boolean;
  /** Progress; null while none runs. */
  readonly share: number | null;
  readonly onStart: () => void;
  readonly onStop: () => void;
}

function RunButtons({ canStart, share, onStart, onStop }: ButtonsParts) {
  return (
    <Group>
      <Button disabled={!canStart || share !== null} onClick={onStart}>
        {words.start}
      </Button>
      {share !== null && (
        <>
          <Button variant="default" onClick={onStop}>
            {words.stop}
          </Button>
          <progress aria-label={words.progress} value={share} />
          <Text size="sm">{shownShare(share)}</Text>
        </>
      )}
    </Group>
  );
}

/** The revisions to try or to compare with, newest first; `showMore` is null when all are loaded. */
function useRevisionOptions(ruleId: number) {
  const { data, hasNextPage, fetchNextPage } = useRevisions(ruleId);
  const listed = data?.pages.flatMap(({ list }) => list) ?? [];
  return {
    older: listed.map(({ revision }) => ({ value: String(revision), label: words.older(revision) })),
    showMore: hasNextPage ? () => void fetchNextPage() : null,
  };
}

/** A backtest that ends when it is stopped, or when the page is left. */
function useStoppable(ruleId: number) {
  const { mutate, data, error, isPending, variables } = useBacktest(ruleId);
  const running = useRef<AbortController | null>(null);
  const [share, setShare] = useState(0);
  useEffect(() => () => running.current?.abort(), []);
  return {
    data,
    error,
    isCompared: isCompared(variables?.order),
    tried: triedText(variables?.order),
    isPending,
    share,
    start(order: BacktestOrder): void {
      running.current = new AbortController();
      setShare(0);
      mutate({ order, signal: running.current.signal, onProgress: setShare });
    },
    stop: () => running.current?.abort(),
  };
}

/** With another revision, or with the stored rule. */
function isCompared(order: BacktestOrder | undefined): boolean {
  return order?.compare !== undefined || order?.flow_json !== undefined || order?.revision !== undefined;
}

/** The candidate of the result: the form may have changed since. */
function triedText(order: BacktestOrder | undefined): string {
  if (order?.revision !== undefined) return words.older(order.revision);
  return order?.flow_json === undefined ? words.stored : words.draft;
}

/** The candidate: the stored rule, its draft, or the revision of that number. */
function candidateOf(what: string, draft: KeptDraft | null): Partial<BacktestOrder> {
  if (what === 'stored') return {};
  if (what !== 'draft' || draft === null) return { revision: Number(what) };
  const { flow, trigger_config, priority, cooldown_ms } = draft.history.present;
  return { ...(flow === null ? {} : { flow_json: flow }), trigger_config, priority, cooldown_ms };
}
