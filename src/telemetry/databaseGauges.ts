import type { DatabaseStats } from '../database/database.ts'
import type { GaugeSource } from './registry.ts'

export const databaseGauges = (stats: () => DatabaseStats): GaugeSource[] => [
  {
    name: 'petstore_writes_waiting',
    help: 'Writes that wait for their commit.',
    value: () => stats().writesWaiting,
  },
  {
    name: 'petstore_database_connections_busy',
    help: 'Connections to PostgreSQL in use.',
    value: () => stats().connectionsBusy,
  },
  {
    name: 'petstore_database_connections_awaited',
    help: 'Requests that wait for a connection to PostgreSQL.',
    value: () => stats().connectionsAwaited,
  },
]
