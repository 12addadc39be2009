#!/usr/bin/env node
/**
 * `npm run processor:check -- URL [--task FILE ...]`: asks a running processor the valid and the hostile requests of the
 * contract and prints a scorecard. Exit codes: 0 everything held, 1 something did not, 2 wrong usage.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { systemClock } from '../base/clock.ts';
import { YamlError } from '../base/yaml.ts';
import type { TaskDeclaration } from '../contract/task/declaration.ts';
import { readTask } from '../contract/task/read.ts';
import { checkProcessor, type ScoreLine } from '../processor-kit/conformance/check-processor.ts';
import { isLocal } from '../processor-kit/conformance/wire.ts';

const exitCodes = { failed: 1, usage: 2 } as const;
const ownTask = fileURLToPath(new URL('../../docs/processor-contract/task.yaml', import.meta.url));
const requestTimeoutMs = 60_000;

const usage = `Usage: npm run processor:check -- URL [--task FILE ...] [--token-env NAME]

Checks that a processor keeps the contract svc.data-processing.forecast.v1.

  URL               base URL; /v1/process and /v1/health are below it
  --task FILE ...   task declarations that the processor serves (default: the one of docs/processor-contract)
  --token-env NAME  environment variable that holds the bearer token
`;

function refuse(reason: string): never {
  process.stderr.write(`error: ${reason}\n\n${usage}`);
  return process.exit(exitCodes.usage);
}

function endpointOf(text: string | undefined): URL {
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return refuse('give an http or https URL');
  if (url.protocol === 'http:' && !isLocal(url)) return refuse('only this machine is asked over http');
  return url;
}

function given() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        task: { type: 'string', multiple: true },
        'token-env': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function taskOf(file: string): TaskDeclaration {
  try {
    return readTask(readFileSync(file, 'utf8'), basename(file)).value;
  } catch (error) {
    const reason = error instanceof YamlError ? error.message : 'cannot be read';
    process.stderr.write(`${basename(file)}: ${reason}\n`);
    return process.exit(exitCodes.usage);
  }
}

function print(task: TaskDeclaration, lines: readonly ScoreLine[]): void {
  process.stdout.write(`${task.id}, revision ${task.revision}\n`);
  for (const part of new Set(lines.map((each) => each.part))) {
    const own = lines.filter((each) => each.part === part);
    const held = own.filter((each) => each.passed).length;
    process.stdout.write(`  ${part}: ${held} of ${own.length}\n`);
    for (const each of own.filter(({ passed }) => !passed)) process.stdout.write(`    ✗ ${each.name}: ${each.seen}\n`);
  }
}

async function run(
  endpoint: URL,
  options: { readonly task?: readonly string[]; readonly tokenEnv?: string },
): Promise<void> {
  const bearerToken = options.tokenEnv === undefined ? null : (process.env[options.tokenEnv] ?? null);
  if (options.tokenEnv !== undefined && bearerToken === null) {
    process.stderr.write(`${options.tokenEnv} is not set\n`);
    process.exit(exitCodes.usage);
  }
  const all: ScoreLine[] = [];
  for (const task of (options.task ?? [ownTask]).map(taskOf)) {
    const lines = await checkProcessor({ endpoint, bearerToken, requestTimeoutMs, clock: systemClock }, task);
    print(task, lines);
    all.push(...lines);
  }
  const held = all.filter((each) => each.passed).length;
  process.stdout.write(`${held} of ${all.length} held\n`);
  process.exitCode = held === all.length ? 0 : exitCodes.failed;
}

const { values, positionals } = given();
if (values.help === true) process.stdout.write(usage);
else {
  const [url, ...more] = positionals;
  // After --task several files may stand side by side.
  const task = values.task === undefined && more.length === 0 ? undefined : [...(values.task ?? []), ...more];
  const tokenEnv = values['token-env'];
  await run(endpointOf(url), {
    ...(task === undefined ? {} : { task }),
    ...(tokenEnv === undefined ? {} : { tokenEnv }),
  });
}
