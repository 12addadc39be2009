/** The screen that `npm start` prints when it is ready: the running services and the first things to try. */
import { relative } from 'node:path';
import type { RuleSummary } from '../automation/store/rule-store.ts';
import type { ServiceConfig } from '../bin/config.ts';
import type { RunningService } from '../bin/service.ts';
import { recordedPoints } from '../historian/look.ts';

/** Rules named on the screen; a longer list would scroll the rest away. */
const rulesShown = 8;

export async function demoScreen(service: RunningService, config: ServiceConfig): Promise<string> {
  const { site } = service;
  const { rows, total } = await service.store.list({ enabled: undefined, search: undefined }, 1, rulesShown);
  const cannotRun = new Set((await service.engine.status())?.rules_failed.map(({ id }) => id));
  const first = rows.map(({ id }) => id).toSorted((a, b) => a - b)[0] ?? 1;
  const address = addressOf(service.host, service.port);
  const api = `${address}/api/v1/automation/api`;
  const channels = site.channels.map((channel) => `${channel.id} (${channel.driver}${paceOf(channel)})`).join(', ');
  return `
Setpoint runs "${site.name}" at ${address}

  main thread        HTTP, rules, audit log
  device thread      ${channels}; ${site.points.length} points
  automation thread  tick ${service.engine.tickIntervalMs} ms, ${total} rules:
${rows.map((row) => ruleLine(row, cannotRun)).join('\n')}${total > rows.length ? `\n                       and ${total - rows.length} more` : ''}
  historian thread   ${recordedPoints(site.points).length} points recorded, kept ${site.history.retentionDays} days
${forecastLine(config)}  site, data         ${shown(config.configDir)}, ${shown(config.dataDir)}
${await signInLine(service)}
In another terminal${withDatabase(config)}:
${dataDirLine(config)}  export TOKEN=$(npm exec setpoint -- token --role Engineer --subject you --ttl 12h)
  curl -H "Authorization: Bearer $TOKEN" "${api}/rules/${first}/history?limit=1"

Guides: first-rule.md, commission-a-forecast.md and more in docs/guides. Setpoint is not a safety system.
Ctrl-C ends it; the next start continues here.
`;
}

/** The processor that this process started. */
function forecastLine({ processorEndpoints = {} }: ServiceConfig): string {
  const [endpoint] = Object.values(processorEndpoints);
  return endpoint === undefined ? '' : `  processor          ${endpoint}, forecasts of load and PV\n`;
}

/** The link works once. Its code is in the fragment, which no server logs. Absent where tokens come from elsewhere. */
async function signInLine({ issueCode, host, port }: RunningService): Promise<string> {
  if (issueCode === null) return '';
  // A wildcard address cannot be opened in a browser.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `\nSign in, once, within ten minutes:\n  ${addressOf(reachable, port)}/#code=${await issueCode()}\n`;
}

/** It may contain a password, so only its name is shown. */
function withDatabase({ env }: ServiceConfig): string {
  return (env['SVC_DATABASE_URL'] ?? '') === '' ? '' : ', with the same SVC_DATABASE_URL';
}

/** What the other terminal's environment lacks: the key that signs tokens is in the data directory. */
function dataDirLine({ env, dataDir }: ServiceConfig): string {
  return env['SVC_DATA_DIR'] === undefined ? '' : `  export SVC_DATA_DIR=${quoted(dataDir)}\n`;
}

/** Quoted as one word for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function paceOf(channel: RunningService['site']['channels'][number]): string {
  return channel.driver === 'simulated' ? `, ${channel.speed} x true pace` : '';
}

function ruleLine(row: RuleSummary, cannotRun: ReadonlySet<number>): string {
  const state = !row.enabled ? ' (disabled)' : cannotRun.has(row.id) ? ' (cannot run: open it to see why)' : '';
  return `                       ${row.id}  ${row.name}, priority ${row.priority}${state}`;
}

function shown(folder: string): string {
  const short = relative(process.cwd(), folder);
  return short === '' || short.startsWith('..') ? folder : `./${short}`;
}
