/** The selected node as a form: its label, its content, its wires. */
import { Button, MultiSelect, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { isFields } from '../../../src/rules/issues.ts';
import { nodeView } from '../node/index.ts';
import { copyText } from '../parts/copy-text.ts';
import { TrashIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { setText, setWholeConfig } from './edit-flow.ts';
import { canConnect, removeNodes, setTargets } from './edit-wires.ts';
import { useEditor } from './editor-context.ts';
import { EntryGroup, type NodeForm } from './entry-list.tsx';
import { configOf, type FlowDocument, type FlowNode, labelOf, textOf, wiresOf } from './flow-document.ts';
import classes from './inspector.module.css';
import { FieldsForm, partForms } from './node-forms.tsx';
import { elseOutput, nativeKindOf, outputsOf } from './node-kinds.ts';
import { nodeTitle } from './node-names.ts';

const words = t.nodes;

export function Inspector() {
  const { history } = useDraft();
  const { selected } = useEditor();
  const flow = drawnFlow(history.present);
  if (selected.size > 1) return <p className={classes['about']}>{words.several(selected.size)}</p>;
  const [id] = selected;
  const index = flow.nodes.findIndex((node) => node.id === id);
  const node = flow.nodes[index];
  if (node === undefined) return <p className={classes['about']}>{words.noneSelected}</p>;
  return <NodeInspector key={node.id} node={node} index={index} flow={flow} />;
}

function NodeInspector({ node, index, flow }: NodeForm & { flow: FlowDocument }) {
  const store = useDraftStore();
  const { readOnly, select, problems, touch } = useEditor();
  const kind = nativeKindOf(node);
  const { title, about, parts, fields } = nodeView(kind);
  const whole = problems.filter(
    (problem) => problem.part === 'flow' && problem.node_id === node.id && isOfWhole(problem.path, index),
  );
  return (
    <section
      className={classes['form']}
      aria-label={nodeTitle(node)}
      data-testid="inspector"
      onBlur={({ target }) => {
        const path = target.closest('[data-path]')?.getAttribute('data-path');
        if (typeof path === 'string') touch(path);
      }}
    >
      <div>
        <h2 className={classes['head']}>{title}</h2>
        <p className={classes['about']}>{about}</p>
      </div>
      {whole.map(({ message, hint }) => (
        <p key={message} className={classes['problem']}>
          {message}
          {hint === undefined ? '' : `: ${hint}`}
        </p>
      ))}
      <TextInput
        label={words.label}
        value={labelOf(node)}
        readOnly={readOnly}
        data-path="label"
        onChange={(event) => {
          const text = event.currentTarget.value;
          store.editFlow((document) => setText(document, node.id, 'label', text), `${node.id} label`);
        }}
      />
      {kind === null && <JsonForm node={node} index={index} />}
      {parts.map((part) => {
        const Form = partForms[part];
        return Form === undefined ? null : <Form key={part} node={node} index={index} />;
      })}
      {fields !== undefined && <FieldsForm fields={fields} node={node} index={index} />}
      <Connections node={node} flow={flow} />
      <Textarea
        label={words.description}
        value={textOf(node.data?.['description'])}
        readOnly={readOnly}
        autosize
        minRows={1}
        onChange={(event) => {
          const text = event.currentTarget.value;
          store.editFlow((document) => setText(document, node.id, 'description', text), `${node.id} description`);
        }}
      />
      <Button
        variant="default"
        w="fit-content"
        onClick={() => {
          const [address] = location.href.split('?');
          const link = `${address}?node=${encodeURIComponent(JSON.stringify(node.id))}`;
          void copyText(link);
        }}
      >
        {words.copyLink}
      </Button>
      {!readOnly && (
        <Button
          variant="default"
          color="red"
          leftSection={<TrashIcon size={15} />}
          w="fit-content"
          onClick={() => {
            store.editFlow((document) => removeNodes(document, new Set([node.id])));
            select([]);
          }}
        >
          {words.remove}
        </Button>
      )}
    </section>
  );
}

/** Problems of the node itself: those of a field are shown at the field. */
function isOfWhole(path: string, index: number): boolean {
  return /^\/nodes\/[0-9]+(\/data)?(\/config)?(\/(wires|variables|branches|assignments|writes|parameters).*)?$/.test(
    path,
  )
    ? !/\/(variables|branches|assignments|writes|parameters)\/[0-9]+/.test(path) && path.startsWith(`/nodes/${index}`)
    : !path.startsWith('/nodes/');
}

/** The targets of each output as selections: an alternative to drawing wires. */
function Connections({ node, flow }: { node: FlowNode; flow: FlowDocument }) {
  const store = useDraftStore();
  const { readOnly } = useEditor();
  const outputs = outputsOf(node);
  if (outputs.length === 0) return null;
  const wires = wiresOf(node);
  return (
    <EntryGroup legend={words.connections}>
      {outputs.map((output) => {
        const targets = wires[output] ?? [];
        const fits = ({ id }: FlowNode): boolean => targets.includes(id) || canConnect(flow, node.id, output, id);
        const name = output === 'default' ? words.outputDefault : output === elseOutput ? words.outputElse : output;
        return (
          <MultiSelect
            key={output}
            label={outputs.length === 1 && output === 'default' ? undefined : name}
            aria-label={words.connectionsOf(name)}
            placeholder={targets.length === 0 ? words.connectHint : undefined}
            data={flow.nodes
              .filter(fits)
              .map((target) => ({ value: target.id, label: `${nodeTitle(target)} (${target.id})` }))}
            value={[...targets]}
            readOnly={readOnly}
            searchable
            onChange={(next) => store.editFlow((document) => setTargets(document, node.id, output, next))}
          />
        );
      })}
    </EntryGroup>
  );
}

/** A node without a form is edited as JSON. */
function JsonForm({ node }: NodeForm) {
  const store = useDraftStore();
  const { readOnly } = useEditor();
  const stored = JSON.stringify(configOf(node), null, 2);
  const [typed, setTyped] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const put = (text: string): void => {
    setTyped(text);
    try {
      const config: unknown = JSON.parse(text);
      if (!isFields(config)) throw new Error('{…}');
      setFault(null);
      store.editFlow((document) => setWholeConfig(document, node.id, config), `${node.id} json`);
    } catch (error) {
      setFault(words.jsonBad(error instanceof Error ? error.message : ''));
    }
  };
  return (
    <Textarea
      label={words.json}
      value={typed ?? stored}
      readOnly={readOnly}
      autosize
      minRows={6}
      maxRows={24}
      spellCheck={false}
      error={fault}
      classNames={{ input: classes['mono'] ?? '' }}
      onBlur={() => fault === null && setTyped(null)}
      onChange={(event) => put(event.currentTarget.value)}
    />
  );
}
