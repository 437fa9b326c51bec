/** Targets that a proxy or a URL parser could take for the path /metrics. */
export const metricsPaths = [
  ...['/metrics', '/metrics/', '//metrics', '/%6detrics', '/metrics?x', '/metrics#x'],
  ...['/metrics/.', '/metrics/./', '/./metrics', '/metrics/x/..', '/metrics/x/../', '/v1/../metrics'],
  ...[
    '/metrics/%2e',
    '/metrics/%2E',
    '/%2e/metrics',
    '/metrics/x/%2e%2e',
    '/metrics/x/.%2E',
    '/v1/%2e./metrics',
  ],
  ...['http://petstore/metrics', 'http://petstore/metrics/.', 'http://petstore/v1/%2e%2e/metrics'],
  'http://petstore/metrics#x',
]
