/** Whether an event can still be changed unnoticed, and the proof to take away [audit §9.4]. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { auditOperations } from '../../../src/api/audit.ts';
import { ApiError } from '../../../src/api/client.ts';
import { parseCheckpoint } from '../../../src/transparency/checkpoint.ts';
import { cosignatureTime } from '../../../src/transparency/cosignature.ts';
import { parseProofFile } from '../../../src/transparency/proof-file.ts';
import { Failure } from '../parts/failure.tsx';
import { saveText } from '../parts/file-save.ts';
import { fullTime } from '../parts/moment.tsx';
import { Notice } from '../parts/tag.tsx';
import { call } from '../server/calls.ts';
import { auditWords } from '../strings/audit.ts';

const words = auditWords.proof;
const msPerSecond = 1000;

interface EventCover {
  /** The file; null while no checkpoint covers the event. */
  readonly file: string | null;
  readonly size: string;
  readonly witnesses: readonly { readonly name: string; readonly atMs: number }[];
}

async function coverOf(sequence: string): Promise<EventCover> {
  try {
    const file = (await call(auditOperations.proof, { params: { sequence } })).data;
    const note = parseProofFile(file)?.checkpoint;
    const head = note === undefined ? null : parseCheckpoint(note.text);
    // The service returns cosignatures of its configured witnesses only; a holder of their keys verifies them again.
    const others = note?.signatures.filter(({ name }) => name !== head?.origin) ?? [];
    const witnesses = others.map(({ name, signature }) => ({ name, atMs: cosignatureTime(signature) * msPerSecond }));
    return { file, size: String(head?.size ?? ''), witnesses };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not-covered-yet') return { file: null, size: '', witnesses: [] };
    throw error;
  }
}

/** The page that checks proofs, to be kept: it needs neither this service nor a network. */
async function saveVerifier(): Promise<void> {
  const page = await fetch('/assets/verify-proof.html');
  saveText('verify-proof.html', await page.text(), 'text/html');
}

export function EventProof({ sequence }: { readonly sequence: string }) {
  const cover = useQuery({ queryKey: ['audit-proof', sequence], queryFn: () => coverOf(sequence), retry: false });
  return (
    <Stack gap="xs" data-testid="event-proof">
      <Text component="h3" fw={600} size="sm">
        {words.title}
      </Text>
      {cover.isPending && <Skeleton height={40} aria-label={words.loading} />}
      {cover.isError && <Failure error={cover.error} onRetry={() => void cover.refetch()} />}
      {cover.data !== undefined && <Cover sequence={sequence} cover={cover.data} />}
    </Stack>
  );
}

function Cover({ sequence, cover }: { readonly sequence: string; readonly cover: EventCover }) {
  const { file, size, witnesses } = cover;
  if (file === null) return <Notice tone="warn">{words.uncovered}</Notice>;
  const names = witnesses.map(({ name, atMs }) => words.witness(name, fullTime(atMs))).join(', ');
  return (
    <>
      <Text size="sm">
        {words.covered(size)} {names === '' ? words.unwitnessed : words.cosigned(names)}
      </Text>
      <Group>
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => saveText(`audit-event-${sequence}.tlog-proof`, file, 'text/plain')}
        >
          {words.download}
        </Button>
        <Button variant="subtle" size="compact-sm" onClick={() => void saveVerifier()}>
          {words.page}
        </Button>
      </Group>
      <Text size="xs" c="dimmed">
        {words.check}
      </Text>
    </>
  );
}
