/**
 * Whether a client accepts gzip (RFC 9110, 12.5.3): named by itself, or covered by "*", with a weight above 0.
 * Without the header nothing is compressed.
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let isAnyAccepted = false
  for (const entry of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const isAccepted = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
    if (coding === 'gzip' || coding === 'x-gzip') return isAccepted
    if (coding === '*') isAnyAccepted = isAccepted
  }
  return isAnyAccepted
}
