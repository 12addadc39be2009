/** The `SVC_*` variables [platform §1.1]: those that exist, and what an empty or misspelt one does. */
import { didYouMean, editDistance } from '../base/nearest-name.ts';
import { StartError } from './start-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Of the service, the forecaster and the command line. Channels and routes may name further ones for their secrets. */
export const settingNames = [
  'SVC_ACCESS_TOKEN',
  'SVC_BASE_URL',
  'SVC_CLOUD_API_BEARER_TOKEN',
  'SVC_CLOUD_API_PERMISSIONS',
  'SVC_CLOUD_API_PROJECT_ID',
  'SVC_CLOUD_API_SUBJECT_ID',
  'SVC_CLOUD_API_TENANT_ID',
  'SVC_CONFIG_DIR',
  'SVC_DATABASE_URL',
  'SVC_DATA_DIR',
  'SVC_DATA_PROCESSING_ENABLED',
  'SVC_FORECASTER_BEARER_TOKEN',
  'SVC_FORECASTER_HOST',
  'SVC_FORECASTER_PORT',
  'SVC_FORECASTER_TASKS',
  'SVC_HTTP_HOST',
  'SVC_HTTP_PORT',
  'SVC_JWT_AUDIENCE',
  'SVC_JWT_ISSUER',
  'SVC_JWT_JWKS_URL',
  'SVC_JWT_ROLE_CLAIM',
  'SVC_JWT_ROLE_MAP',
  'SVC_JWT_SECRET',
  'SVC_JWT_SUBJECT_CLAIM',
  'SVC_LOG_LEVEL',
  'SVC_OIDC_CLIENT_ID',
  'SVC_OIDC_CLIENT_SECRET',
  'SVC_OIDC_ISSUER',
  'SVC_OIDC_SCOPE',
  'SVC_ROLES',
] as const;

type SettingName = (typeof settingNames)[number];

/** Letters by which a name may differ from the setting that was meant. */
const lettersMax = 2;

/** A line for the operator, or null. In place of a misspelt setting the default would apply: another data dir, or tokens of another issuer. */
export function misspeltSetting(env: Environment): string | null {
  const known: ReadonlySet<string> = new Set(settingNames);
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || known.has(name)) continue;
    const meant = settingNames.find((setting) => editDistance(name, setting) <= lettersMax);
    if (meant !== undefined) return `${name} is not a setting; ${didYouMean(meant)}`;
  }
  return null;
}

export function refuseMisspelt(env: Environment): void {
  const misspelt = misspeltSetting(env);
  if (misspelt !== null) throw new StartError(misspelt);
}

/** The default applies only to a variable that is not set. An empty host would mean every address, an empty folder the working directory. */
export function settingOf(env: Environment, name: SettingName, otherwise: string): string {
  const value = env[name] ?? otherwise;
  if (value.trim() === '') throw new StartError(`${name} is empty: give it a value, or unset it`);
  return value;
}
