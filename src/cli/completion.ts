/**
 * `setpoint completion bash|zsh|fish` [platform §7]: the words of the program itself, written as a script for the shell.
 * The script is complete in itself: a key press starts no process.
 */
import type { Command, Option } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type ShellName = (typeof shells)[number];

/** A position in the command line: the words before it, and the possible next ones. */
interface Place {
  /** Such as `rules list`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Choice[];
}

interface Choice {
  readonly flag: string;
  readonly description: string;
  /** The option's possible values, if they are a list. */
  readonly values: readonly string[];
  readonly takesValue: boolean;
}

export function completionScript(program: Command, shell: ShellName): string {
  const places = placesOf(program, []);
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
  return scripts[shell](program.name(), places);
}

function placesOf(command: Command, path: readonly string[]): Place[] {
  const shown = command.createHelp().visibleCommands(command);
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => ({ name, description })),
  );
  const commands = [...shown.map((child) => ({ name: child.name(), description: child.description() })), ...values];
  const options = command.createHelp().visibleOptions(command).flatMap(choiceOf);
  const own = { path: path.join(' '), commands, options };
  const children = command.commands.filter((child) => shown.includes(child));
  return [own, ...children.flatMap((child) => placesOf(child, [...path, child.name()]))];
}

function choiceOf(option: Option): Choice[] {
  if (option.long === undefined || option.long === null) return [];
  const values = option.argChoices ?? [];
  return [
    { flag: option.long, description: option.description, values, takesValue: option.required || option.optional },
  ];
}

/** Candidates at a position, options last: the first suggestions are commands. */
function wordsOf(place: Place): string {
  return [...place.commands.map(({ name }) => name), ...place.options.map(({ flag }) => flag)].join(' ');
}

function valueCases(places: readonly Place[]): { readonly key: string; readonly values: string }[] {
  return places.flatMap((place) =>
    place.options
      .filter(({ values }) => values.length > 0)
      .map(({ flag, values }) => ({ key: `${place.path}|${flag}`, values: values.join(' ') })),
  );
}

function bashScript(name: string, places: readonly Place[]): string {
  const known = places.map((place) => `    '${place.path}') words='${wordsOf(place)}' ;;`);
  const values = valueCases(places).map(({ key, values: list }) => `    '${key}') words='${list}' ;;`);
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `      '${path}') path=$next ;;`);
  return `# completion of ${name} for bash: eval "$(${name} completion bash)"
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} path='' next='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    next="\${path:+$path }$word"
    case "$next" in
${paths.join('\n')}
    esac
  done
  case "$path|$before" in
${values.join('\n')}
  esac
  if [[ -z $words ]]; then case "$path" in
${known.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 && $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _${name} ${name}
`;
}

function zshScript(name: string, places: readonly Place[]): string {
  const described = (text: string): string => text.replaceAll(/['[\]:\\]/g, ' ');
  const entries = (place: Place): string =>
    [
      ...place.commands.map((command) => `'${command.name}:${described(command.description)}'`),
      ...place.options.map((option) => `'${option.flag}:${described(option.description)}'`),
    ].join(' ');
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `      '${path}') at=$next ;;`);
  const values = valueCases(places).map(({ key, values: list }) => `    '${key}') compadd -- ${list}; return ;;`);
  const known = places.map((place) => `    '${place.path}') entries=(${entries(place)}) ;;`);
  return `#compdef ${name}
# completion of ${name} for zsh: eval "$(${name} completion zsh)"
_${name}() {
  local at='' next='' word
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    case "$next" in
${paths.join('\n')}
    esac
  done
  case "$at|\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$at" in
${known.join('\n')}
  esac
  _describe '${name}' entries || _files
}
compdef _${name} ${name}
`;
}

function fishScript(name: string, places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  const lines = places.flatMap((place) => {
    const under = `-n ${quoted(`__${name}_at ${place.path}`.trim())}`;
    return [
      ...place.commands.map(
        (command) => `complete -c ${name} -f ${under} -a ${quoted(command.name)} -d ${quoted(command.description)}`,
      ),
      ...place.options.map((option) => {
        const takes =
          option.values.length > 0 ? ` -x -a ${quoted(option.values.join(' '))}` : option.takesValue ? ' -r' : '';
        return `complete -c ${name} ${under} -l ${option.flag.replace(/^--/, '')}${takes} -d ${quoted(option.description)}`;
      }),
    ];
  });
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => `      case '${path}'`);
  return `# completion of ${name} for fish: ${name} completion fish | source
function __${name}_at
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$at $word")
    switch "$next"
${paths.map((line) => `${line}\n        set at "$next"`).join('\n')}
    end
  end
  test "$at" = "$argv"
end
${lines.join('\n')}
`;
}
