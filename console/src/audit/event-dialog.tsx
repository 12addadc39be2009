/** One audit event in full, and where to go from it. */
import { Anchor, Button, Group, Modal, Skeleton, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { AuditSearch } from '../addresses.ts';
import { copyText } from '../parts/copy-text.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import { Notice, Tag } from '../parts/tag.tsx';
import { useCatalogue } from '../server/use-catalogue.ts';
import { auditWords } from '../strings/audit.ts';
import { t } from '../strings/index.ts';
import classes from './audit.module.css';
import { type AuditEvent, useAuditEvent } from './audit-queries.ts';
import { actionWords, outcomeTones, ruleIdOf } from './audit-words.ts';
import { EventChanges } from './event-changes.tsx';
import { EventProof } from './event-proof.tsx';
import { useResourceNames } from './resource-names.ts';

const words = auditWords.event;

interface DialogParts {
  readonly sequence: string;
  readonly onClose: () => void;
  readonly onSearch: (next: AuditSearch) => void;
}

export function EventDialog({ sequence, onClose, onSearch }: DialogParts) {
  const event = useAuditEvent(sequence);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={words.title(sequence)}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      {event.isPending && <Skeleton height={220} aria-label={t.common.loading} />}
      {event.isError && <Failure error={event.error} onRetry={() => void event.refetch()} />}
      {event.data === null && <Notice tone="warn">{words.missing(sequence)}</Notice>}
      {event.data !== null && event.data !== undefined && <EventFields event={event.data} onSearch={onSearch} />}
    </Modal>
  );
}

function EventFields({ event, onSearch }: { event: AuditEvent; onSearch: (next: AuditSearch) => void }) {
  const { fields } = words;
  const ruleId = ruleIdOf(event.resource.resourceId);
  const catalogue = useCatalogue();
  return (
    <Stack data-testid="audit-event">
      <dl className={classes['fields']}>
        <dt>{fields.occurredAt}</dt>
        <dd>
          {fullTime(event.occurredAt)} <span className={classes['soft']}>{event.occurredAt}</span>
        </dd>
        <dt>{fields.subject}</dt>
        <dd>
          {event.subject.subjectId} ({event.subject.kind})
        </dd>
        <dt>{fields.action}</dt>
        <dd>
          {actionWords(event.action)} <span className={classes['soft']}>{event.action}</span>
        </dd>
        <ResourceField event={event} />
        <dt>{fields.outcome}</dt>
        <dd>
          <Tag tone={outcomeTones[event.outcome]}>{auditWords.outcomes[event.outcome]}</Tag>{' '}
          {auditWords.outcomeHints[event.outcome]}
        </dd>
        <dt>{fields.risk}</dt>
        <dd>{words.risks[event.risk]}</dd>
        <dt>{fields.confirmation}</dt>
        <dd>{words.confirmations[event.confirmation]}</dd>
        <dt>{fields.sequence}</dt>
        <dd>{event.sequence}</dd>
        <dt>{fields.eventId}</dt>
        <dd>{event.eventId}</dd>
        <dt>{fields.correlationId}</dt>
        <dd>{event.correlationId}</dd>
        {event.traceId !== undefined && (
          <>
            <dt>{fields.traceId}</dt>
            <dd>{event.traceId}</dd>
          </>
        )}
        {event.detailsDigest !== undefined && (
          <>
            <dt>{fields.detailsDigest}</dt>
            <dd>{event.detailsDigest}</dd>
          </>
        )}
      </dl>
      {ruleId !== null && event.outcome === 'succeeded' && (
        <EventChanges ruleId={ruleId} correlationId={event.correlationId} catalogue={catalogue} />
      )}
      <EventProof sequence={event.sequence} />
      <EventActions event={event} onSearch={onSearch} />
    </Stack>
  );
}

/** The resource by its name where it has one, with the way to it. */
function ResourceField({ event }: { event: AuditEvent }) {
  const ruleId = ruleIdOf(event.resource.resourceId);
  const name = useResourceNames()(event.resource.resourceId);
  return (
    <>
      <dt>{words.fields.resource}</dt>
      <dd>
        {name ?? event.resource.resourceId}{' '}
        <span className={classes['soft']}>
          {name === null ? event.resource.kind : `${event.resource.resourceId}, ${event.resource.kind}`}
        </span>
        {ruleId !== null && name !== null && (
          <Link to="/rules/$ruleId" params={{ ruleId: String(ruleId) }} className={classes['rule'] ?? ''}>
            {words.openRule}
          </Link>
        )}
      </dd>
    </>
  );
}

function EventActions({ event, onSearch }: { event: AuditEvent; onSearch: (next: AuditSearch) => void }) {
  return (
    <>
      <Group gap="lg">
        <Anchor component="button" type="button" onClick={() => onSearch({ correlation: event.correlationId })}>
          {words.related}
        </Anchor>
        <Anchor component="button" type="button" onClick={() => onSearch({ resourceId: event.resource.resourceId })}>
          {words.sameResource}
        </Anchor>
      </Group>
      <Group>
        <Button variant="default" size="compact-sm" onClick={() => void copyText(JSON.stringify(event, null, 2))}>
          {words.copyJson}
        </Button>
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => void copyText(`${location.origin}/#/audit?event=%22${event.sequence}%22`)}
        >
          {words.copyLink}
        </Button>
      </Group>
    </>
  );
}
