/** One rule of a Prometheus rule file. */
export interface AlertRule {
  readonly alert: string;
  readonly severity: string;
  /** What is wrong, with the placeholders of Prometheus. */
  readonly summary: string;
  /** Path of a document of this repository, with the section. */
  readonly runbook: string;
}

/** The rules of a file in which each key is on a line of its own, as ours is. */
export function alertRules(yaml: string): AlertRule[] {
  return yaml
    .split(/^ +- alert: /m)
    .slice(1)
    .map((rule) => {
      const textOf = (key: string) => new RegExp(`\\b${key}: '?(.*?)'?$`, 'm').exec(rule)?.[1] ?? '';
      return {
        alert: /^\w+/.exec(rule)![0],
        severity: /severity: (\w+)/.exec(rule)?.[1] ?? '',
        summary: textOf('summary'),
        runbook: textOf('runbook_url'),
      };
    });
}

/** A table of the alerts in the order of the file, for `deploy/runbooks.md`. */
export function alertTable(yaml: string): string {
  const rows = alertRules(yaml).map(({ alert, severity, summary, runbook }) => {
    const anchor = runbook.slice(runbook.indexOf('#'));
    return `| \`${alert}\` | ${severity} | ${withoutPlaceholders(summary)} | [${anchor.slice(1)}](${anchor}) |`;
  });
  return ['| Alert | Severity | What is wrong | Runbook |', '|---|---|---|---|', ...rows].join('\n');
}

/** `{{ $labels.processor }}` becomes _processor_, and each value N. */
function withoutPlaceholders(text: string): string {
  return text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '_$1_').replaceAll(/\{\{ \$value[^}]*\}\}/g, 'N');
}
