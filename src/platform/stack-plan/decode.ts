/** The inputs of planning, decoded: request, engine answer and policy decision [platform §6.3]. */
import Type from 'typebox';
import { platformLimits } from '../limits.ts';
import { isOwnCode } from '../refusal.ts';
import { untrusted } from '../untrusted.ts';
import {
  changeActions,
  type EngineAnswer,
  type EngineRequest,
  engineNames,
  type PolicyDecision,
  type StackRequest,
} from './ports.ts';

const exact = { additionalProperties: false };
const digest = Type.String({ pattern: /^sha256:[0-9a-f]{64}$/ });
/** Segments that begin with a letter or digit: no empty one, no `..`, no user, query or fragment. */
const path = '(?=.{1,512}$)[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$';
const reference = (scheme: string) => Type.String({ pattern: new RegExp(`^${scheme}://${path}`) });
const oneOf = <const Word extends string>(words: readonly Word[]) =>
  Type.Union(words.map((word) => Type.Literal(word)));
/** `infrastructure-stack:<id>` is the audit's resource id of at most 128 characters. */
const stackId = Type.String({ pattern: /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/ });
const code = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

export const decodeStackRequest: (value: unknown) => StackRequest | null = untrusted(
  Type.Object(
    {
      stackId,
      engine: oneOf(engineNames),
      module: Type.Object(
        {
          reference: reference('module'),
          version: Type.String({ pattern: /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$/ }),
          digest,
        },
        exact,
      ),
      topology: Type.Object({ reference: reference('topology'), digest }, exact),
    },
    exact,
  ),
);

const decodeAnswer = untrusted(
  Type.Union([
    Type.Object(
      {
        ok: Type.Literal(true),
        plan: Type.Object(
          {
            planId: Type.String(),
            stackId: Type.String(),
            stateKey: Type.String(),
            lock: Type.Object({ lockId: Type.String(), acquired: Type.Boolean(), released: Type.Boolean() }, exact),
            artifact: Type.Object(
              {
                reference: reference('plan-artifact'),
                digest,
                encrypted: Type.Boolean(),
                sensitive: Type.Boolean(),
              },
              exact,
            ),
            changes: Type.Array(
              Type.Object(
                { address: Type.String({ pattern: /^[^\p{Cc}\p{Cs}]{1,1024}$/u }), action: oneOf(changeActions) },
                exact,
              ),
            ),
          },
          exact,
        ),
      },
      exact,
    ),
    Type.Object(
      { ok: Type.Literal(false), code: Type.String({ pattern: code, maxLength: 64 }), retryable: Type.Boolean() },
      exact,
    ),
  ]),
);

/** The engine's answer when it keeps to the contract; null when it does not. */
export function judgeEngineAnswer(value: unknown, request: EngineRequest, changesMax: number): EngineAnswer | null {
  const answer = decodeAnswer(value);
  if (answer === null) return null;
  // An engine has its own failures; it cannot say that the caller lacked a permission, or that a store was down.
  if (!answer.ok) return isOwnCode(answer.code) && !answer.code.startsWith('infrastructure-engine-') ? null : answer;
  const { planId, stackId, stateKey, lock, artifact, changes } = answer.plan;
  const keeps =
    planId === request.planId &&
    stackId === request.stackId &&
    stateKey === request.stateKey &&
    lock.lockId === request.lockId &&
    lock.acquired &&
    lock.released &&
    artifact.encrypted &&
    artifact.sensitive &&
    changes.length <= changesMax &&
    new Set(changes.map((change) => change.address)).size === changes.length;
  return keeps ? answer : null;
}

export const decodePolicyDecision: (value: unknown) => PolicyDecision | null = untrusted(
  Type.Union([
    Type.Object({ decision: Type.Literal('allow') }, exact),
    Type.Object(
      {
        decision: Type.Literal('deny'),
        reasons: Type.Array(Type.String({ pattern: code, maxLength: 64 }), {
          maxItems: platformLimits.policy_reasons_max,
        }),
      },
      exact,
    ),
  ]),
);
