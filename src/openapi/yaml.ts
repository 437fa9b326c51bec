import { stringify } from 'yaml'

/**
 * YAML that readers of version 1.1 and of 1.2 take for the same values. Text that 1.1 would read as something else, such as
 * a time, a date, "yes" or "12:30", is quoted.
 */
export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' })
