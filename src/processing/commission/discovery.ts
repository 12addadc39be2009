/** The discovery entry of a commissioned route [data-processing §5.2]: every listed member, no measurement. */
import type { TaskDiscoveryEntry } from '../../api/processing-discovery.ts';
import type { TaskInput } from '../../contract/task/declaration.ts';
import type { CommissionedRoute } from './commissioned.ts';

type Feature = TaskDiscoveryEntry['features'][number];

export function discoveryEntry({ task, binding, processor, route }: CommissionedRoute): TaskDiscoveryEntry {
  const { artifact } = binding;
  return {
    task: { id: task.id, revision: task.revision },
    binding: { id: binding.id, revision: binding.revision },
    kind: task.kind,
    processor_contract: task.processor_contract,
    features: [
      ...task.inputs.history.map((input) => featureOf(input, 'history')),
      ...task.inputs.future_covariates.map((input) => featureOf(input, 'future_covariate')),
    ],
    forecast: {
      target: {
        name: task.target.name,
        unit: task.target.unit,
        sign_convention: task.target.sign_convention,
      },
      cadence_ms: task.frame.cadence_seconds * 1000,
      history_aggregation: task.alignment.aggregation,
      history_duplicate_policy: task.alignment.duplicate_policy,
      history_feature_policies: task.alignment.feature_policies.map((policy) => ({
        feature: policy.name,
        aggregation: policy.aggregation,
        duplicate_policy: policy.duplicate_policy,
      })),
      history_steps: task.frame.history_steps,
      max_horizon_steps: task.frame.horizon_steps,
      max_quantiles: task.output.max_quantiles,
      max_output_age_ms: task.output.expires_after_seconds * 1000,
      max_missing_ratio: task.quality.max_missing_ratio,
      max_input_age_ms: task.quality.max_input_age_seconds * 1000,
      max_gap_ms: task.quality.max_gap_seconds * 1000,
      require_future_issue_time: task.quality.require_covariate_issue_time_not_after_as_of,
      allowed_fallbacks: task.fallbacks.map((policy) => policy.strategy),
      fallback_policies: task.fallbacks.map((policy) => ({
        strategy: policy.strategy,
        version: policy.version,
        source_feature: policy.source_feature,
        max_output_age_ms: policy.max_output_age_seconds * 1000,
      })),
    },
    ...(artifact === null
      ? {}
      : {
          artifact: {
            kind: artifact.kind,
            family: artifact.family,
            ...(artifact.version === undefined ? {} : { version: artifact.version }),
            ...(artifact.artifact_digest === undefined ? {} : { digest: artifact.artifact_digest }),
          },
        }),
    processor_id: processor.id,
    processor_version: processor.version,
    data_boundary: processor.boundary,
    deadline_ms: route.deadline_ms,
    audit_finalization_timeout_ms: route.audit_finalization_timeout_ms,
    max_concurrency: route.max_concurrency,
    max_frame_samples: processor.max_frame_cells,
    max_request_bytes: processor.max_request_bytes,
  };
}

function featureOf(input: TaskInput, role: Feature['role']): Feature {
  return {
    name: input.name,
    role,
    value_type: input.value_type,
    ...(input.unit === null ? {} : { unit: input.unit }),
    integer: input.range.integer ?? false,
  };
}
