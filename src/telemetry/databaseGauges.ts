import type { GaugeOf } from './registry.ts'

type DatabaseLoad = {
  readonly writesWaiting: number
  readonly connectionsBusy: number
  readonly connectionsAwaited: number
}

export const databaseGauges = (load: () => DatabaseLoad): GaugeOf[] => [
  {
    name: 'petstore_writes_waiting',
    help: 'Changes that wait for their commit.',
    value: () => load().writesWaiting,
  },
  {
    name: 'petstore_database_connections_busy',
    help: 'Connections to PostgreSQL in use.',
    value: () => load().connectionsBusy,
  },
  {
    name: 'petstore_database_connections_awaited',
    help: 'Requests that wait for a connection to PostgreSQL.',
    value: () => load().connectionsAwaited,
  },
]
