// axios with our adapter, which gives each response as its text.
import axios, { type AxiosInstance } from 'axios';
import { createAdapter } from '../../packages/core/src/http/adapter/nodeAdapter.js';
import { apiKey } from './contestant.js';

/** It is closed after the last request. */
export function adapterAxios(): { readonly api: AxiosInstance; readonly close: () => Promise<void> } {
  const adapter = createAdapter({ connectTimeout: 10_000, maxBodyBytes: 32 * 1024 * 1024 });
  const api = axios.create({
    adapter: async (config) => {
      const headers = { ...config.headers.toJSON(true), 'x-api-key': apiKey };
      const { status, text } = await adapter.send({ url: config.url ?? '', method: 'GET', headers });
      return { status, statusText: '', headers: {}, data: text, config };
    },
  });
  return { api, close: () => adapter.close() };
}
