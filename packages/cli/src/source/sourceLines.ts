import type { SourceDescription } from '@sluice/core';
import { visibleText } from '../terminal/visibleText.js';

/** A source, described to a person: its name, and below it what it is, takes and gives. */
export function sourceLines({ name, description, params, columns, hasKey }: SourceDescription): string[] {
  const taken = params?.map((param) => {
    const facts = [param.type, ...(param.isRequired ? ['required'] : [])].filter((fact) => fact !== undefined);
    return param.name + (facts.length > 0 ? ` (${facts.join(', ')})` : '');
  });
  const rows: [label: string, text: string | undefined][] = [
    ['params', taken === undefined ? undefined : taken.join(', ') || 'none'],
    ['columns', columns.join(', ')],
    ['watch', hasKey ? undefined : 'needs --key'],
  ];
  const lines = rows.flatMap(([label, text]) =>
    text === undefined ? [] : [`  ${label.padEnd(9)}${visibleText(text)}`],
  );
  return [name, ...(description === undefined ? [] : [`  ${visibleText(description)}`]), ...lines];
}
