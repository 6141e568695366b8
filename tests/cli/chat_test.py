"""The chat on a pseudo-terminal: commands, Ctrl-C, end of input."""
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import harness
from harness import DEMO, PROGRAM, environment


class Terminal:
    """The program on a terminal of its own; text() is what it wrote since the last send(), less control sequences."""

    def __init__(self, *args):
        self.master, slave = pty.openpty()

        def own():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen([PROGRAM] + [str(a) for a in args], stdin=slave, stdout=slave, stderr=slave,
                                      env=environment({"TERM": "xterm", "COLUMNS": "80", "LINES": "24",
                                                       "XDG_DATA_HOME": "/dev/null"}), preexec_fn=own)
        os.close(slave)
        self.raw = b""

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += got
        return bool(got)

    def text(self):
        text = self.raw.decode("utf-8", "replace")
        return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b.", "", text)

    def send(self, text):
        self.raw = b""
        os.write(self.master, text.encode())

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.text()):
                return True
            self.read(0.1)
        return False

    def ready(self):
        """Reads until the chat waits for a line: its prompt is shown just before single keys are handed out."""
        end = time.monotonic() + 60
        while self.wait_for(r"(?:^|[\r\n])> $") and time.monotonic() < end:
            if not termios.tcgetattr(self.master)[3] & termios.ICANON:
                return True
            self.read(0.01)
        return False

    def settle(self, seconds=0.7):
        while self.read(seconds):
            pass

    def end(self, seconds=20):
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.1)
        if self.child.poll() is None:
            self.child.kill()
        return self.child.wait()


class Chat(harness.Case):
    def start(self, *flags, model=DEMO):
        terminal = Terminal("run", model, "--temp", 0, *flags)
        self.addCleanup(lambda: (terminal.child.poll() is None and terminal.child.kill(), os.close(terminal.master)))
        self.assertTrue(terminal.ready(), terminal.text())
        return terminal

    def test_help_lists_the_commands_and_exit_ends(self):
        t = self.start()
        t.send("/help\n")
        self.assertTrue(t.wait_for("/exit"), t.text())
        for command in ("/system", "/reset", "/stats"):
            self.assertIn(command, t.text())
        t.send("/exit\n")
        self.assertEqual(t.end(), 0)

    def test_end_of_input_ends_the_chat(self):
        t = self.start()
        t.send("\x04")
        self.assertEqual(t.end(), 0)

    def test_an_unknown_command_names_the_nearest(self):
        t = self.start()
        t.send("/rest\n")
        self.assertTrue(t.wait_for("/reset"), t.text())

    def test_words_of_other_chats(self):
        t = self.start()
        for typed, said in (("/?", "this list"), ("/clear", "A new conversation begins"), ("/regen", "/help lists them"),
                            ("exit", "/exit ends the chat")):
            t.send(typed + "\n")
            self.assertTrue(t.wait_for(said), t.text())
            self.assertNotIn("Did you mean", t.text())
        t.send("/bye\n")
        self.assertEqual(t.end(), 0)

    def test_settings_of_answers_change_in_the_chat(self):
        t = self.start("--max-tokens", 8)
        for typed, said in (("/set temperature 0.4", "temperature: 0.4, from the next answer on"),
                            ("/set parameter seed 77", "seed: 77, from"), ("/set temp hot", "takes a number from 0 to 100"),
                            ("/set num_ctx 9", "stays what it is while the chat runs"), ("/set", "temperature +0.4"),
                            ("/set stats maybe", 'stats takes one of off, on, live, not "maybe"'), ("/set stats", r"stats: on \(takes"),
                            ("/stats", r"seed +77\s+sampling temperature 0.4"), ("/set stats off", "stats: off")):
            t.send(typed + "\n")
            self.assertTrue(t.wait_for(said), t.text())
            t.settle(0.2)
        t.send("What is a router?\n")
        t.settle()
        self.assertIn("> ", t.text())
        self.assertNotIn("tok/s", t.text())

    def test_ctrl_c_at_an_empty_prompt_says_how_to_leave(self):
        t = self.start()
        t.send("\x03")
        self.assertTrue(t.wait_for("/exit ends the chat"), t.text())
        self.assertIsNone(t.child.poll())

    def test_an_answer_then_its_statistics_then_the_next_question(self):
        t = self.start("--max-tokens", 16)
        for question in ("Hello there!", "What is a router?"):
            t.send(question + "\n")
            self.assertTrue(t.wait_for("tok/s"), t.text())
            self.assertTrue(t.ready(), t.text())
        t.send("/stats\n")
        self.assertTrue(t.wait_for("(?i)seed"), t.text())

    def test_ctrl_c_stops_the_answer_and_keeps_the_chat(self):
        t = self.start("--temp", 1.8)
        t.send("Tell me a long story about everything.\n")
        self.assertTrue(t.wait_for(r"everything\.\s+\w"), t.text())  # the answer has begun
        os.killpg(t.child.pid, signal.SIGINT)
        self.assertTrue(t.ready(), t.text())
        self.assertIsNone(t.child.poll(), t.text())
        t.send("/exit\n")
        self.assertEqual(t.end(), 0)

    def test_a_turn_that_no_longer_fits_is_refused_and_the_chat_stays(self):
        t = self.start("--ctx", 96, "--max-tokens", 8)
        t.send("word " * 200 + "\n")
        self.assertTrue(t.wait_for("(?i)context"), t.text())
        self.assertIn("96", t.text())
        t.send("/reset\n")
        self.assertTrue(t.ready(), t.text())
        t.send("Hello there!\n")
        self.assertTrue(t.wait_for("tok/s"), t.text())

    def test_with_auto_evict_the_chat_goes_on_and_its_oldest_turns_go(self):
        t = self.start("--ctx", 160, "--max-tokens", 16, "--set", "kv_cache.auto_evict=true")
        said = ""
        for _ in range(12):
            t.send("What is a router, and what does it do?\n")
            self.assertTrue(t.wait_for("tok/s"), t.text())
            self.assertTrue(t.ready(), t.text())
            said += t.text()
        self.assertRegex(said.replace("\r\n", " "), r"leaves out its (oldest turn|\d+ oldest turns) \(\d+ tokens\)")
        self.assertNotIn("does not fit", said)

    def test_reset_empties_the_context(self):
        t = self.start("--max-tokens", 8)
        t.send("What is a router?\n")
        self.assertTrue(t.wait_for("tok/s"), t.text())
        self.assertTrue(t.ready(), t.text())
        t.send("/reset\n")
        self.assertTrue(t.wait_for("A new conversation begins"), t.text())
        self.assertTrue(t.ready(), t.text())
        t.send("/stats\n")
        self.assertTrue(t.wait_for("context +0 of"), t.text())

    def test_what_is_pasted_is_one_message(self):
        t = self.start("--max-tokens", 4)
        t.send("\x1b[200~What is\ra router?\r\x1b[201~")
        t.settle()
        self.assertNotIn("tok/s", t.text())
        t.send("\r")
        self.assertTrue(t.wait_for("tok/s"), t.text())
        self.assertTrue(t.ready(), t.text())
        self.assertEqual(t.text().count("tok/s"), 2, t.text())  # of one answer: prompt and answer

    def test_the_terminal_is_given_back_when_the_chat_is_ended(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            t = self.start()
            self.assertFalse(termios.tcgetattr(t.master)[3] & termios.ICANON)
            os.kill(t.child.pid, number)
            self.assertEqual(t.end(), -number)
            self.assertTrue(termios.tcgetattr(t.master)[3] & termios.ICANON)

    def test_a_saved_conversation_goes_on_in_another_chat(self):
        path, answers = str(self.path("a conversation")), []
        for before in (("Hello there!", "/save " + path), ("/load " + path,)):
            t = self.start("--max-tokens", 16)
            for line in before:
                t.send(line + "\n")
                self.assertTrue(t.wait_for("tok/s|Saved|Loaded"), t.text())
                self.assertTrue(t.ready(), t.text())
            t.send("What is a router?\n")
            self.assertTrue(t.wait_for("tok/s"), t.text())
            self.assertTrue(t.ready(), t.text())
            answers.append(re.findall(r"\w+", t.text().split("What is a router?")[-1].split("[stats]")[0]))
            t.send("/exit\n")
            self.assertEqual(t.end(), 0)
        self.assertTrue(answers[0])
        self.assertEqual(answers[1], answers[0])
        with open(path, "r+b") as file:
            file.truncate(100)
        t = self.start()
        t.send("/load " + path + "\n")
        self.assertTrue(t.wait_for("no whole saved conversation"), t.text())
        self.assertIsNone(t.child.poll())

    def test_a_file_of_another_kind_is_not_replaced_by_a_conversation(self):
        notes = self.path("notes")
        notes.write_text("mine")
        t = self.start()
        for path in (notes, harness.TOP / "README.md"):
            t.send("/load %s\n" % path)
            self.assertTrue(t.wait_for("%s: this file is no saved conversation. Name one that /save has written." % path), t.text())
        t.send("/save %s\n" % notes)
        self.assertTrue(t.wait_for("no saved conversation"), t.text())
        self.assertEqual(notes.read_text(), "mine")
        saved = self.path("new one")
        t.send("/save %s\n" % saved)
        self.assertTrue(t.wait_for("Saved"), t.text())
        self.assertEqual(saved.stat().st_mode & 0o777, 0o600)

    def test_a_follow_up_reads_only_what_is_new_where_the_template_leaves_out_the_thinking(self):
        """Recurrent layers cannot go back: their state is kept where an answer begins."""
        model = self.path("recurrent.gguf")
        subprocess.run([sys.executable, harness.TOP / "tools/synth_gguf.py", "--preset", "nano-qwen35moe", model],
                       stdout=subprocess.DEVNULL, check=True)
        template = self.write("thinking.jinja", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
                              "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}")
        read, answers = {}, {}
        for kept in ("0.25", "0"):
            t = self.start("--template", template, "--max-tokens", 12, "--repeat-penalty", 1, "--think", "on",
                           "--set", "kv_cache.state_checkpoints=" + kept, "--set", "inference.ignore_eos=true", model=model)
            read[kept], answers[kept] = [], []
            for question in ("word " * 300, "And now?", "And then?"):
                t.send(question + "\n")
                self.assertTrue(t.wait_for(r"prompt \d+ tokens"), t.text())
                self.assertTrue(t.ready(), t.text())
                read[kept].append(int(re.search(r"prompt (\d+) tokens", t.text()).group(1)))
                answers[kept].append(t.text().split("[stats]")[0].split(question.strip()[-8:])[-1])
            t.send("/exit\n")
            self.assertEqual(t.end(), 0)
        self.assertEqual(answers["0.25"], answers["0"])
        self.assertEqual(read["0.25"][0], read["0"][0])
        self.assertTrue(all(0 < n < read["0"][0] / 5 for n in read["0.25"][1:]), read)
        self.assertTrue(all(n > read["0"][0] for n in read["0"][1:]), read)

    def test_reset_forgets(self):
        t = self.start("--max-tokens", 12)
        answers = []
        for _ in range(2):
            t.send("What is a router?\n")
            self.assertTrue(t.wait_for("tok/s"), t.text())
            self.assertTrue(t.ready(), t.text())
            answers.append(re.search(r"(The .{20})", t.text(), re.S).group(1))
            t.send("/reset\n")
            self.assertTrue(t.ready(), t.text())
        self.assertEqual(answers[0], answers[1])


if __name__ == "__main__":
    harness.main()
