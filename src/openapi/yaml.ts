import { stringify } from 'yaml'

/** YAML with the same meaning in versions 1.1 and 1.2. Text such as "yes" or "12:30", which 1.1 would convert, is quoted. */
export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' })
