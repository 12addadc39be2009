/** The operations of area C [data-processing §5.1] as descriptors. */
import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import type { Capability } from './capability.ts';
import { derivedDataSchema, processTaskRequestSchema } from './processing.ts';
import { processorsHealthSchema, taskListSchema } from './processing-discovery.ts';
import {
  keptResultSchema,
  resultListSchema,
  resultParamsSchema,
  resultQuerySchema,
  resultsQuerySchema,
  scoresQuerySchema,
  scoresSchema,
} from './processing-results.ts';

const prefix = '/api/v1/data-processing';
const nothing = Type.Object({}, { additionalProperties: false });

/** A query that leaves nothing behind and asks no processor for a forecast: any role that may read, no durable audit. */
function discovery<A extends TSchema>(operation: {
  readonly name: string;
  readonly summary: string;
  readonly path: string;
  readonly answer: A;
  readonly params?: TSchema;
  readonly query?: TSchema;
}) {
  return {
    params: nothing,
    query: nothing,
    ...operation,
    path: `${prefix}${operation.path}`,
    method: 'GET',
    kind: 'query',
    risk: 'low',
    permission: 'data_processing.read',
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    body: null,
  } as const;
}

const process = {
  name: 'data_processing.process',
  summary: 'Assemble a frame, ask its processor, and return the accepted result as derived data',
  method: 'POST',
  path: `${prefix}/process`,
  kind: 'query',
  risk: 'medium',
  permission: 'data_processing.run',
  confirmation: 'policy',
  confirmedIn: 'header',
  audit: 'required',
  idempotent: false,
  params: nothing,
  query: nothing,
  body: processTaskRequestSchema,
  bodyLimit: 'processing',
  rate: 'processing',
  withheldWithoutAudit: true,
  answer: derivedDataSchema,
} as const satisfies Capability;

export const dataProcessing = {
  tasks: discovery({
    name: 'data_processing.tasks.list',
    summary: 'List the commissioned tasks with their features, limits and routes',
    path: '/tasks',
    answer: taskListSchema,
  }),
  health: discovery({
    name: 'data_processing.processors.health',
    summary: 'Check the health of every processor',
    path: '/processors/health',
    answer: processorsHealthSchema,
  }),
  results: discovery({
    name: 'data_processing.results.list',
    summary: 'List the stored results of a task, newest first',
    path: '/results',
    query: resultsQuerySchema,
    answer: resultListSchema,
  }),
  result: discovery({
    name: 'data_processing.results.get',
    summary: 'Read a stored result, with recorded values on request',
    path: '/results/:result_id',
    params: resultParamsSchema,
    query: resultQuerySchema,
    answer: keptResultSchema,
  }),
  scores: {
    ...discovery({
      name: 'data_processing.scores',
      summary: 'Score the stored results of a task against recorded values',
      path: '/scores',
      query: scoresQuerySchema,
      answer: scoresSchema,
    }),
    rate: 'processing',
  },
  process,
} as const satisfies Record<string, Capability>;

/** The audit action of the record that is written before a frame leaves the site. */
export const egressAction = 'data_processing.egress';
