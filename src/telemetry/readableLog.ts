import { styleText } from 'node:util'
import { withoutControls } from '../controlCharacters.ts'

/** A log line, as JSON has it. */
type Line = {
  readonly level: number
  readonly time: string
  readonly msg?: string
  readonly [name: string]: unknown
}

const levels: Readonly<Record<number, { name: string; style: Parameters<typeof styleText>[0] }>> = {
  10: { name: 'TRACE', style: 'gray' },
  20: { name: 'DEBUG', style: 'gray' },
  30: { name: 'INFO', style: 'green' },
  40: { name: 'WARN', style: 'yellow' },
  50: { name: 'ERROR', style: 'red' },
  60: { name: 'FATAL', style: 'red' },
}
const levelWidth = 5

export const requestMessage = 'request'

/** A log line for people. The level has a colour if standard error is a terminal with colours. */
export function readableLine(line: Line): string {
  const { level, time, msg = '', err, ...fields } = line
  const { name, style } = levels[level] ?? { name: String(level), style: 'red' as const }
  const shownLevel = styleText(style, name.padEnd(levelWidth), { stream: process.stderr })
  const text =
    msg === requestMessage && 'method' in fields ? requestText(fields) : [msg, ...formatFields(fields)]
  const stack = err === undefined ? '' : errorText(err as { stack?: string; message?: string })
  return `${localTime(time)} ${shownLevel} ${withoutControls(text.filter((part) => part !== '').join(' '))}\n${stack}`
}

/** In the time zone of this machine, as the rest of the terminal: `12:30:59`. */
const localTime = (time: string): string => new Date(time).toTimeString().slice(0, 8)

function requestText({ status, method, path, ms, ...fields }: Record<string, unknown>): string[] {
  const { code, keyId: key, address, requestId: request } = fields
  return [`${status} ${method} ${path} ${ms} ms`, ...formatFields({ code, key, address, request })]
}

const formatFields = (fields: Record<string, unknown>): string[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${formatValue(value)}`],
  )

const formatValue = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)

const errorText = ({ stack, message = '' }: { stack?: string; message?: string }): string =>
  (stack ?? message)
    .split('\n')
    .map((each) => `    ${withoutControls(each)}\n`)
    .join('')
